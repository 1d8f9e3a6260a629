// Package lines is the front end that every peer here has: a JSON object a line, operations in
// and events out. The tests say what happens; a peer only does it with its own libraries.
package lines

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"sync"
)

// Longest is how many bytes one line may have: a message of 4 MiB, as base64, and its frame.
const Longest = 64 << 20

// Event is one line out. Its member "event" says of what kind it is.
type Event map[string]any

var out = struct {
	sync.Mutex
	*bufio.Writer
}{Writer: bufio.NewWriter(os.Stdout)}

// Say writes one event, whole and at once.
func Say(kind string, event Event) {
	if event == nil {
		event = Event{}
	}
	event["event"] = kind
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	out.Lock()
	defer out.Unlock()
	out.Write(append(line, '\n'))
	out.Flush()
}

// Each hands every line that comes in to do, until the input ends. A line that is none is an
// event "bad", and nothing else.
func Each[Op any](do func(Op) error) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > Longest {
			Say("bad", Event{"why": "the line is too long"})
		} else if len(line) > 1 {
			answer(line, do)
		}
		if err != nil {
			if err != io.EOF {
				Say("bad", Event{"why": err.Error()})
			}
			return
		}
	}
}

func answer[Op any](line []byte, do func(Op) error) {
	var op Op
	err := json.Unmarshal(line, &op)
	if err == nil {
		err = do(op)
	}
	if err != nil {
		Say("bad", Event{"why": err.Error()})
	}
}
