// Package fake starts `gateway fake …` for a test, and speaks its JSON lines.
package fake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"testing"
	"time"
)

// Patience is how long any one thing is waited for. Only what hangs takes that long.
const Patience = 30 * time.Second

const longest = 64 << 20 // bytes of a line

// Line is one JSON object that a fake reads or writes.
type Line map[string]any

// Fake is a fake that runs until its test is over.
type Fake struct {
	// Address is where it listens, with the real port.
	Address string

	t     testing.TB
	stdin io.WriteCloser
	lines chan Line
	kept  []Line
	asked int
}

// Start starts `gateway fake WORDS…` and waits until it is ready. The program is the one that
// the variable GATEWAY names, else `gateway` on the path.
func Start(t testing.TB, words ...string) *Fake {
	t.Helper()
	program := os.Getenv("GATEWAY")
	if program == "" {
		program = "gateway"
	}
	command := exec.Command(program, append([]string{"fake"}, words...)...)
	var said bytes.Buffer
	command.Stderr = &said
	stdin, err := command.StdinPipe()
	must(t, err)
	stdout, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())

	f := &Fake{t: t, stdin: stdin, lines: make(chan Line)}
	over, read := make(chan struct{}), make(chan struct{})
	go f.read(stdout, over, read)
	t.Cleanup(func() {
		stdin.Close() // the end of its input is its end
		close(over)
		kill := time.AfterFunc(Patience, func() { command.Process.Kill() })
		<-read
		command.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("the fake said:\n%s", said.String())
		}
	})
	f.Address, _ = f.Until(Line{"event": "ready"})["address"].(string)
	return f
}

func (f *Fake) read(stdout io.Reader, over, read chan struct{}) {
	defer close(read)
	defer close(f.lines)
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, longest)
	for scanner.Scan() {
		var line Line
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			continue
		}
		select {
		case f.lines <- line:
		case <-over: // nobody reads any more; it must not wait for us
		}
	}
}

// Ask has the fake do something, and answers what it says. A refusal fails the test.
func (f *Fake) Ask(op string, members Line) Line {
	f.t.Helper()
	f.asked++
	id := strconv.Itoa(f.asked)
	line := Line{"op": op, "id": id}
	for name, value := range members {
		line[name] = value
	}
	text, err := json.Marshal(line)
	must(f.t, err)
	_, err = f.stdin.Write(append(text, '\n'))
	must(f.t, err)
	answer := f.Until(Line{"id": id})
	if answer["ok"] != true {
		f.t.Fatalf("%s: %v", op, answer["error"])
	}
	return answer
}

// Until waits for a line that has all these members. Lines before it are kept for later.
func (f *Fake) Until(members Line) Line {
	f.t.Helper()
	for at, line := range f.kept {
		if has(line, members) {
			f.kept = append(f.kept[:at], f.kept[at+1:]...)
			return line
		}
	}
	late := time.After(Patience)
	for {
		select {
		case line, open := <-f.lines:
			if !open {
				f.t.Fatalf("the fake has ended, and %v did not come", members)
			}
			if has(line, members) {
				return line
			}
			f.kept = append(f.kept, line)
		case <-late:
			f.t.Fatalf("%v did not come; what came is %v", members, f.kept)
		}
	}
}

func has(line, members Line) bool {
	for name, value := range members {
		if !reflect.DeepEqual(line[name], value) {
			return false
		}
	}
	return true
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
