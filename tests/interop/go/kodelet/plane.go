package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"fleetgate.example/interop/lines"
	"github.com/coder/websocket"
)

const deadAfter, sweepEvery, missing = 45 * time.Second, 15 * time.Second, 3

// record is a runner as the control plane knows it, through all its links.
type record struct {
	id, identity string
	generation   int64
	link         *plink
	ready, fault bool
	concurrent   bool
	heard        time.Time
}

// plink is one link of a runner, registered or not yet.
type plink struct {
	peer   *peer
	record *record // nil before the registration
	done   bool    // a registration was here, be it gone
}

// prun is a run at a runner.
type prun struct {
	id, conversation string
	record           *record
	link             *plink
	state            string // opening, running, canceled
	updates          bool
	missed           int
	calls            map[string]context.CancelFunc
}

// plane is the control plane. Its lock guards all that is below it.
type plane struct {
	token string

	sync.Mutex
	runners    map[string]*record
	identities map[string]*record
	runs       map[string]*prun
}

func newPlane(token string) *plane {
	return &plane{
		token: token, runners: map[string]*record{}, identities: map[string]*record{},
		runs: map[string]*prun{},
	}
}

func (p *plane) listen(at string) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		fail(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(path, p.serve)
	go http.Serve(listener, mux)
	go p.sweep()
	lines.Say("ready", lines.Event{"address": "ws://" + listener.Addr().String() + path})
}

func (p *plane) sweep() {
	for range time.Tick(sweepEvery) {
		p.Lock()
		for _, each := range p.runners {
			if each.link != nil && time.Since(each.heard) > deadAfter {
				link := each.link
				p.detach(each)
				link.peer.drop()
			}
		}
		p.Unlock()
	}
}

// --- the upgrade: section 2

func (p *plane) serve(w http.ResponseWriter, r *http.Request) {
	if !p.knows(r) {
		refuse(w, 401, "runner authentication required")
		return
	}
	if !slices.ContainsFunc(r.Header.Values("Sec-WebSocket-Protocol"), offers) {
		refuse(w, 400, "runner websocket subprotocol is required")
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && !allowed(origin, r.Host) {
		w.WriteHeader(403)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol}, InsecureSkipVerify: true,
	})
	if err != nil {
		return
	}
	link := &plink{peer: newPeer(socket, "server")}
	link.peer.requests = func(ctx context.Context, _, method string, params json.RawMessage) (any, *rpcError) {
		return p.answer(link, method, params)
	}
	link.peer.notes = func(method string, params json.RawMessage) { p.note(link, method, params) }
	err = link.peer.serve()
	p.Lock()
	defer p.Unlock()
	if link.record != nil && link.record.link == link {
		p.detach(link.record)
	}
	lines.Say("link", lines.Event{"state": "down", "why": fmt.Sprint(err)})
}

func offers(header string) bool {
	for each := range strings.SplitSeq(header, ",") {
		if strings.TrimSpace(each) == subprotocol {
			return true
		}
	}
	return false
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"status":%d,"success":false}`, text, status)
}

func (p *plane) knows(r *http.Request) bool {
	if p.token == "" {
		return true
	}
	shown := strings.TrimSpace(r.Header.Get("Authorization"))
	scheme, rest, spaced := strings.Cut(shown, " ")
	if spaced && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Token")) {
		shown = strings.TrimSpace(rest)
	}
	if shown == "" {
		if cookie, err := r.Cookie("kodelet_auth_token"); err == nil {
			shown = cookie.Value
		}
	}
	return subtle.ConstantTimeCompare([]byte(shown), []byte(p.token)) == 1
}

func allowed(origin, host string) bool {
	at, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(at.Hostname())
	return at.Host == host || at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// --- what runners say

func (p *plane) answer(link *plink, method string, params json.RawMessage) (any, *rpcError) {
	p.Lock()
	defer p.Unlock()
	switch {
	case method == "runner.register" && link.done:
		return nil, failed(invalidRequest, "runner is already registered on this connection")
	case method == "runner.register":
		return p.register(link, params)
	case !link.done:
		return nil, failed(invalidRequest, "runner.register must be the first request")
	case strings.HasPrefix(method, "ui."):
		return p.ui(link, method, params)
	}
	return nil, failed(noMethod, "runner request method not found")
}

func (p *plane) register(link *plink, params json.RawMessage) (any, *rpcError) {
	var asked struct {
		ProtocolVersions []int  `json:"protocolVersions"`
		RunnerID         string `json:"runnerId"`
		KodeletVersion   string `json:"kodeletVersion"`
		DisplayName      string `json:"displayName"`
		ManifestDigest   string `json:"manifestDigest"`
		Host             struct {
			InstanceID string `json:"instanceId"`
			Hostname   string `json:"hostname"`
			OS         string `json:"os"`
			Arch       string `json:"arch"`
			PID        int    `json:"pid"`
		} `json:"host"`
		Workspace struct {
			Path string `json:"path"`
			Name string `json:"name"`
		} `json:"workspace"`
		Capabilities struct {
			ConcurrentRuns bool `json:"concurrentRuns"`
		} `json:"capabilities"`
	}
	if len(params) == 0 {
		return nil, failed(invalidParams, "rpc params are required")
	}
	if fault := decode(params, &asked); fault != nil {
		return nil, fault
	}
	if !slices.Contains(asked.ProtocolVersions, 1) {
		return nil, failed(invalidParams, "runner does not support protocol version 1")
	}
	instance, path := strings.TrimSpace(asked.Host.InstanceID), strings.TrimSpace(asked.Workspace.Path)
	for name, value := range map[string]string{
		"host.instanceId": instance, "workspace.path": path,
		"workspace.name": strings.TrimSpace(asked.Workspace.Name),
	} {
		if value == "" {
			return nil, failed(invalidParams, name+" is required")
		}
	}
	known, fault := p.identify(instance+"\x00"+path, asked.RunnerID)
	if fault != nil {
		return nil, fault
	}
	if old := known.link; old != nil {
		p.detach(known)
		old.peer.drop()
	}
	known.generation++
	known.link, known.heard, known.concurrent = link, time.Now(), asked.Capabilities.ConcurrentRuns
	known.ready, known.fault = false, false
	link.record, link.done = known, true
	lines.Say("link", lines.Event{
		"state": "up", "runner": known.id, "generation": known.generation, "path": path,
	})
	return registration{known.id, 1, random("conn_", 12), known.generation, 15_000}, nil
}

func (p *plane) identify(identity, id string) (*record, *rpcError) {
	byID, byIdentity := p.runners[id], p.identities[identity]
	switch {
	case id == "" && byIdentity == nil:
		made := &record{id: random("runner_", 12), identity: identity}
		p.runners[made.id], p.identities[identity] = made, made
		return made, nil
	case id == "":
		return byIdentity, nil
	case byID != nil && byID.identity != identity:
		return nil, failed(conflict, "runner id belongs to another host workspace")
	case byID == nil && byIdentity != nil:
		return nil, failed(conflict, "host workspace is registered under another runner id")
	case byID == nil:
		text := "runner id is not known to this control plane: runner not found"
		return nil, because(stale, text, "runner_not_found")
	}
	return byID, nil
}

// detach takes a runner for gone, and its runs for lost.
func (p *plane) detach(known *record) {
	link := known.link
	known.link, known.ready = nil, false
	for _, each := range p.runs {
		if each.link == link {
			p.forget(each, "lost")
		}
	}
}

func (p *plane) forget(run *prun, state string) {
	delete(p.runs, run.id)
	lines.Say("run", lines.Event{"run": run.id, "state": state})
}

func (p *plane) note(link *plink, method string, params json.RawMessage) {
	p.Lock()
	defer p.Unlock()
	known := link.record
	if known == nil || known.link != link {
		return
	}
	switch method {
	case "runner.heartbeat":
		p.heartbeat(known, params)
	case "runner.goodbye":
		p.detach(known)
	case "run.environmentError":
		var said struct{ RunID, Message string }
		if json.Unmarshal(params, &said) == nil && p.runs[said.RunID] != nil {
			lines.Say("failed", lines.Event{"run": said.RunID, "why": said.Message})
		}
	case "tool.update":
		var said struct {
			RunID      string          `json:"runId"`
			ToolCallID string          `json:"toolCallId"`
			Sequence   uint64          `json:"sequence"`
			Result     json.RawMessage `json:"result"`
		}
		if json.Unmarshal(params, &said) == nil && p.runs[said.RunID] != nil {
			lines.Say("update", lines.Event{
				"run": said.RunID, "call": said.ToolCallID, "sequence": said.Sequence,
				"result": said.Result,
			})
		}
	}
}

func (p *plane) heartbeat(known *record, params json.RawMessage) {
	var beat struct {
		RunnerID     string   `json:"runnerId"`
		Generation   int64    `json:"generation"`
		State        string   `json:"state"`
		ActiveRunID  string   `json:"activeRunId"`
		ActiveRunIDs []string `json:"activeRunIds"`
	}
	if json.Unmarshal(params, &beat) != nil || beat.RunnerID != known.id ||
		beat.Generation != known.generation {
		return
	}
	known.heard = time.Now()
	active := map[string]bool{}
	for _, each := range beat.ActiveRunIDs {
		if strings.TrimSpace(each) == "" || active[each] {
			return
		}
		active[each] = true
	}
	if beat.ActiveRunID != "" && len(active) == 0 {
		active[beat.ActiveRunID] = true
	} else if beat.ActiveRunID != "" && !active[beat.ActiveRunID] {
		return
	}
	switch beat.State {
	case "idle":
		if len(active) > 0 {
			return
		}
	case "running", "stopping":
		if len(active) == 0 {
			return
		}
	case "error":
	default:
		return
	}
	known.ready, known.fault = true, beat.State == "error"
	for _, each := range p.runs {
		if each.record != known || each.state == "opening" {
			continue
		}
		each.missed++
		if active[each.id] {
			each.missed = 0
		}
		if each.missed == missing {
			p.forget(each, "lost")
		}
	}
}

func (p *plane) ui(link *plink, method string, params json.RawMessage) (any, *rpcError) {
	var asked ofRun
	if fault := decode(params, &asked); fault != nil {
		return nil, fault
	}
	if strings.TrimSpace(asked.RunID) == "" {
		return nil, failed(invalidParams, "runId is required")
	}
	run := p.runs[asked.RunID]
	if run == nil || run.link != link || run.state == "canceled" {
		return nil, failed(stale, "runner UI request belongs to an inactive run")
	}
	switch method {
	case "ui.notify":
		return map[string]any{"status": "submitted"}, nil
	case "ui.input", "ui.confirm", "ui.select":
		return map[string]any{"status": "submitted", "value": "Bob", "confirmed": true}, nil
	case "ui.transcript.append":
		text := "web ui extension transcript proxy is not available"
		return map[string]any{"accepted": false, "reason": text}, nil
	}
	text := "web ui persistent extension surfaces are not available"
	return map[string]any{"accepted": false, "latestSequence": 0, "reason": text}, nil
}
