// Command rvbox is a client and a server of rvbox, written from the page of the protocol. It keeps
// what it must remember in memory: a cut link is what it survives, not its own end.
//
//	rvbox client -at ws://HOST:PORT/agent -id ID      rvbox server -at HOST:PORT
package main

import (
	"errors"
	"flag"
	"os"

	"fleetgate.example/interop/lines"
	"fleetgate.example/interop/secure"
)

// op is one line in. Which members it needs, its "op" says.
type op struct {
	Op      string
	Run     string
	Client  string
	Line    string
	Argv    []string
	Script  string
	Stdin   bool
	Timeout int `json:"timeout_ms"`
	Text    string
	Newline bool
	Signal  string
	Payload string
	Dir     string
	Before  bool
	Skip    int
}

type options struct {
	at, id, instance, token string
	running, queued         uint
	files                   secure.Files
}

func main() {
	var o options
	flags := flag.NewFlagSet("rvbox", flag.ExitOnError)
	flags.StringVar(&o.at, "at", "127.0.0.1:0", "where to dial (a URL) or to listen (HOST:PORT)")
	flags.StringVar(&o.id, "id", "", "a client's own id")
	flags.StringVar(&o.instance, "instance", "go-1", "a client's instance id")
	flags.StringVar(&o.token, "token", "", "what a client shows at the upgrade")
	flags.UintVar(&o.running, "max-running", 4, "commands at a time")
	flags.UintVar(&o.queued, "max-queued", 16, "commands that wait")
	o.files.Flags(flags)
	if len(os.Args) < 2 {
		fail(errors.New("say client or server"))
	}
	flags.Parse(os.Args[2:])
	switch os.Args[1] {
	case "client":
		c := newClient(o)
		go c.keepDialling()
		lines.Each(c.do)
		c.endAll()
	case "server":
		s := newServer()
		s.listen(o)
		lines.Each(s.do)
	default:
		fail(errors.New("say client or server"))
	}
}

func fail(err error) {
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}
