package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"fleetgate.example/interop/lines"
	"github.com/coder/websocket"
)

// run is one that is open at a runner, or about to be.
type run struct {
	id, conversation string
	ctx              context.Context
	cancel           context.CancelFunc
	ready, stopping  bool
	closing          chan struct{} // closed once the run is gone; nil before run.close
	gone             chan struct{}
	work             sync.WaitGroup
	interactive      bool
	sequence         uint64
}

// runner is one workspace. Its lock guards all that is below it.
type runner struct {
	token, instance, workspace string
	gate                       chan struct{} // one run is opened at a time

	sync.Mutex
	id         string
	generation int64
	registered bool
	runs       map[string]*run
	peer       *peer
}

func random(prefix string, bytes int) string {
	data := make([]byte, bytes)
	rand.Read(data)
	return prefix + base64.RawURLEncoding.EncodeToString(data)
}

func newRunner(token string) *runner {
	workspace, err := os.Getwd()
	if err != nil {
		fail(err)
	}
	return &runner{
		token: token, instance: random("host_", 18), workspace: workspace,
		gate: make(chan struct{}, 1), runs: map[string]*run{},
	}
}

func (r *runner) do(o op) error {
	if o.Op != "drop" {
		return fmt.Errorf("no operation %q", o.Op)
	}
	r.Lock()
	defer r.Unlock()
	if r.peer != nil {
		r.peer.drop()
	}
	return nil
}

// keepDialling has one link after the other: section 2.4.
func (r *runner) keepDialling(at string) {
	for pause := time.Second; ; {
		good, err := r.session(at)
		lines.Say("link", lines.Event{"state": "down", "why": fmt.Sprint(err)})
		var refused *finalError
		if errors.As(err, &refused) {
			lines.Say("final", lines.Event{"why": err.Error()})
			os.Exit(3)
		}
		if good {
			pause = time.Second
		}
		time.Sleep(pause)
		pause = min(2*pause, 30*time.Second)
	}
}

type finalError struct{ text string }

func (f *finalError) Error() string { return f.text }

// session is one link; it answers whether there was a registration.
func (r *runner) session(at string) (bool, error) {
	header := http.Header{}
	if r.token != "" {
		header.Set("Authorization", "Bearer "+r.token)
	}
	socket, answer, err := websocket.Dial(context.Background(), at, &websocket.DialOptions{
		HTTPHeader: header, Subprotocols: []string{subprotocol},
	})
	if err != nil {
		if answer != nil && (answer.StatusCode == 401 || answer.StatusCode == 403) {
			return false, &finalError{err.Error()}
		}
		return false, err
	}
	if socket.Subprotocol() != subprotocol {
		socket.CloseNow()
		return false, &finalError{"another subprotocol"}
	}
	p := newPeer(socket, "runner")
	p.requests, p.notes = r.answer, func(string, json.RawMessage) {}
	good := make(chan bool, 1)
	r.Lock()
	r.peer = p
	r.Unlock()
	go func() { good <- r.live(p) }()
	err = p.serve()
	registered := <-good
	r.abandon()
	return registered, err
}

// abandon gives up all runs: a lost link has lost them.
func (r *runner) abandon() {
	r.Lock()
	defer r.Unlock()
	r.registered, r.peer = false, nil
	for _, each := range r.runs {
		each.cancel()
	}
	r.runs = map[string]*run{}
}

type registration struct {
	RunnerID            string `json:"runnerId"`
	ProtocolVersion     int    `json:"protocolVersion"`
	ConnectionID        string `json:"connectionId"`
	Generation          int64  `json:"generation"`
	HeartbeatIntervalMs int64  `json:"heartbeatIntervalMs"`
}

// live registers, and sends heartbeats to the end of the link.
func (r *runner) live(p *peer) bool {
	result, err := r.register(p, r.id)
	var refused *rpcError
	if errors.As(err, &refused) && refused.Code == stale && r.id != "" &&
		(refused.reason() == "" || refused.reason() == "runner_not_found") {
		result, err = r.register(p, "")
	}
	if err != nil || strings.TrimSpace(result.RunnerID) == "" || result.Generation <= 0 {
		p.drop()
		return false
	}
	r.Lock()
	r.id, r.generation, r.registered = result.RunnerID, result.Generation, true
	r.Unlock()
	lines.Say("link", lines.Event{"state": "up", "runner": r.id, "generation": r.generation})
	every := time.Duration(result.HeartbeatIntervalMs) * time.Millisecond
	if every <= 0 {
		every = 15 * time.Second
	}
	for {
		p.tell("runner.heartbeat", r.heartbeat())
		select {
		case <-time.After(every):
		case <-p.ctx.Done():
			return true
		}
	}
}

func (r *runner) register(p *peer, id string) (registration, error) {
	hostname, _ := os.Hostname()
	params := map[string]any{
		"protocolVersions": []int{1},
		"host": map[string]any{
			"instanceId": r.instance, "hostname": hostname, "os": runtime.GOOS,
			"arch": runtime.GOARCH, "pid": os.Getpid(),
		},
		"workspace":      map[string]any{"path": r.workspace, "name": "workspace"},
		"capabilities":   map[string]any{"concurrentRuns": true},
		"kodeletVersion": "interop",
		"manifestDigest": r.digest(),
	}
	if id != "" {
		params["runnerId"] = id
	}
	var result registration
	text, err := p.call(p.ctx, "runner.register", params, nil)
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	return result, err
}

func (r *runner) digest() string {
	digest, _ := r.offers().digest()
	return digest
}

func (r *runner) heartbeat() map[string]any {
	r.Lock()
	defer r.Unlock()
	names, stopping := []string{}, true
	for id, each := range r.runs {
		names = append(names, id)
		stopping = stopping && each.stopping
	}
	slices.Sort(names)
	beat := map[string]any{
		"runnerId": r.id, "generation": r.generation, "state": "idle",
		"manifestDigest": r.digest(),
	}
	if len(names) > 0 {
		beat["activeRunIds"], beat["state"] = names, "running"
		if stopping {
			beat["state"] = "stopping"
		}
	}
	if len(names) == 1 {
		beat["activeRunId"] = names[0]
	}
	return beat
}

func (r *runner) offers() manifest {
	tools := []tool{}
	for _, name := range []string{"ask", "big", "echo", "sleep", "stream", "stubborn"} {
		tools = append(tools, tool{
			name, "a tool <for> tests", map[string]any{"type": "object", "n": 1e21}, "environment",
		})
	}
	rules := "be good & kind"
	return manifest{
		ProtocolVersion: 1, WorkingDirectory: r.workspace, Tools: tools, ExtensionGeneration: 1,
		ContextFiles: []contextFile{{"AGENTS.md", rules, hashed([]byte(rules))}},
		Commands:     []slash{{Name: "hello", Description: "greets"}},
		Capabilities: manifestFlags{true, true, true, true},
	}
}
