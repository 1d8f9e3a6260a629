// Command kodelet is a control plane and a runner of kodelet's runner protocol, and a judge of its
// messages, written from the page of the protocol. It is none of kodelet's own code, which cannot
// be had; what it shares with that is Go's encoding/json, which that page has the rules of.
//
//	kodelet plane -at HOST:PORT      kodelet runner -at ws://HOST:PORT/…      kodelet judge
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"fleetgate.example/interop/lines"
)

// op is one line in. Which members it needs, its "op" says.
type op struct {
	Op     string
	Runner string
	Run    string
	Conv   string
	Call   string
	Tool   string
}

func main() {
	flags := flag.NewFlagSet("kodelet", flag.ExitOnError)
	at := flags.String("at", "127.0.0.1:0", "where to dial (a URL) or to listen (HOST:PORT)")
	token := flags.String("token", "", "what runners show")
	if len(os.Args) < 2 {
		fail(errors.New("say plane, runner or judge"))
	}
	flags.Parse(os.Args[2:])
	switch os.Args[1] {
	case "plane":
		p := newPlane(*token)
		p.listen(*at)
		lines.Each(p.do)
	case "runner":
		r := newRunner(*token)
		go r.keepDialling(*at)
		lines.Each(r.do)
	case "judge":
		judge()
	default:
		fail(errors.New("say plane, runner or judge"))
	}
}

func fail(err error) {
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

// judge answers each line. m and a JSON text: the digest of this manifest, or - for what is none.
// e and a JSON text: what kind of message the text in it is, or -.
func judge() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var text string
		if err := json.Unmarshal(line[1:], &text); err != nil {
			fail(err)
		}
		fmt.Fprintln(out, judged(line[0], []byte(text)))
		out.Flush()
	}
}

func judged(what byte, text []byte) string {
	if what == 'e' {
		if _, _, kind, err := read(text); err == nil {
			return kind
		}
		return "-"
	}
	var m manifest
	if json.Unmarshal(text, &m) != nil {
		return "-"
	}
	digest, err := m.digest()
	if err != nil {
		return "-"
	}
	return digest
}
