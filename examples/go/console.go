// Package console asks an AgencyProxy daemon for runs. It is what the tests beside it test.
package console

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	longest  = 1 << 20 // bytes of a frame's JSON
	attempts = 5       // links in a row that bring nothing new
	pause    = 50 * time.Millisecond
)

// Result is how a run went.
type Result struct {
	Text  string // what it has said
	State string // finished, or failed
	Links int    // how many links it took
}

// Allow decides about what a run asks to do.
type Allow func(title string) bool

// Run starts a run and watches it to its end. Where the link ends before the run does, it goes
// on with another one, from the last event that it has seen.
func Run(socket, run, prompt string, allow Allow) (Result, error) {
	w := watch{run: run, allow: allow}
	var last error
	for tries := 0; tries < attempts; tries++ {
		before := w.seen
		if last = w.over(socket, prompt); last == nil {
			return w.result, nil
		}
		if w.seen > before {
			tries = 0
		}
		time.Sleep(pause)
	}
	return w.result, fmt.Errorf("%s: %w", run, last)
}

type watch struct {
	run    string
	allow  Allow
	seen   uint64
	result Result
}

// over plays one link's part of the run; nil: the run has ended.
func (w *watch) over(socket, prompt string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	w.result.Links++
	l := &link{conn: conn}
	hello := fields{"client_name": "console", "version": fields{"major": 0, "minor": 3}}
	if err := l.ask("hello", hello); err != nil {
		return err
	}
	request := fields{
		"provider": "claude", "model": "", "prompt": prompt, "permission": "plan",
		"approvals": true, "interactive": false, "workspaceRoots": []string{},
	}
	start := fields{"run_id": w.run, "request": request, "idempotency_key": w.run + ":start"}
	var no refused
	if err := l.ask("start_run", start); err != nil && !(errors.As(err, &no) && no.code == "conflict") {
		return err // a conflict says that an earlier link has started it
	}
	if err := l.ask("attach_run", fields{"run_id": w.run, "after_sequence": w.seen}); err != nil {
		return err
	}
	for {
		frame, err := l.event()
		if err != nil {
			return err
		}
		if ended, err := w.take(l, frame); ended || err != nil {
			return err
		}
	}
}

func (w *watch) take(l *link, f frame) (ended bool, err error) {
	if f.Run != w.run || f.Sequence <= w.seen {
		return false, nil
	}
	w.seen = f.Sequence
	switch f.Event.Type {
	case "text":
		var text string
		err = json.Unmarshal(f.Event.Payload, &text)
		w.result.Text += text
	case "approval_requested":
		var asked struct {
			ID    string `json:"approval_id"`
			Title string `json:"title"`
		}
		if err = json.Unmarshal(f.Event.Payload, &asked); err != nil {
			return false, err
		}
		decision := "deny"
		if w.allow(asked.Title) {
			decision = "allow_once"
		}
		err = l.ask("decide_approval", fields{
			"run_id": w.run, "approval_id": asked.ID, "decision": decision,
			"idempotency_key": w.run + ":" + asked.ID,
		})
	case "finished", "failed":
		w.result.State = f.Event.Type
		ended = true
	}
	return ended, err
}

// --- the wire: u32 length, a kind of 0, one JSON text

type fields map[string]any

type frame struct {
	Kind     string
	Request  uint64 `json:"request_id"`
	Type     string
	Code     string
	Message  string
	Run      string `json:"run_id"`
	Sequence uint64
	Event    struct {
		Type    string
		Payload json.RawMessage
	}
}

type refused struct{ code, message string }

func (r refused) Error() string { return r.code + ": " + r.message }

type link struct {
	conn  net.Conn
	asked uint64
	early []frame // events that came while an answer was waited for
}

func (l *link) ask(kind string, members fields) error {
	l.asked++
	members["requestId"], members["type"] = l.asked, kind
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text)+1))
	if _, err := l.conn.Write(append(append(head, 0), text...)); err != nil {
		return err
	}
	for {
		f, err := l.read()
		switch {
		case err != nil:
			return err
		case f.Kind == "event":
			l.early = append(l.early, f)
		case f.Request == l.asked && f.Type == "error":
			return refused{f.Code, f.Message}
		case f.Request == l.asked:
			return nil
		}
	}
}

func (l *link) event() (frame, error) {
	if len(l.early) > 0 {
		f := l.early[0]
		l.early = l.early[1:]
		return f, nil
	}
	for {
		if f, err := l.read(); err != nil || f.Kind == "event" {
			return f, err
		}
	}
}

func (l *link) read() (frame, error) {
	var f frame
	head := make([]byte, 5)
	if _, err := io.ReadFull(l.conn, head); err != nil {
		return f, err
	}
	size := binary.BigEndian.Uint32(head)
	if size < 1 || size > longest+1 {
		return f, fmt.Errorf("a frame of %d bytes", size)
	}
	text := make([]byte, size-1)
	if _, err := io.ReadFull(l.conn, text); err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}
