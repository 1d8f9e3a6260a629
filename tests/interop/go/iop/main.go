// Command iop is a peer on google.golang.org/grpc: any call of iop as a client, or all of them as
// a server. Messages are the JSON form of protobuf, under their own field names.
//
//	iop client -at HOST:PORT      iop server -at HOST:PORT
package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"time"

	"fleetgate.example/interop/lines"
	"fleetgate.example/interop/secure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// op is one line in. Which members it needs, its "op" says.
type op struct {
	Op        string
	Call      string
	Method    string
	Metadata  map[string]string
	TimeoutMs int `json:"timeout_ms"`
	Message   json.RawMessage
	Repeat    int
	Hold      bool // a call whose messages are read only after an op "read"
	Code      string
	Text      string
}

type options struct {
	at                string
	files             secure.Files
	pingEvery         float64 // seconds; 0: what the library does by itself
	pingTimeout       float64
	pingsAllowedEvery float64
	limit             int
}

func main() {
	var o options
	flags := flag.NewFlagSet("iop", flag.ExitOnError)
	flags.StringVar(&o.at, "at", "127.0.0.1:0", "where to dial or to listen")
	o.files.Flags(flags)
	flags.Float64Var(&o.pingEvery, "ping-every", 0, "seconds between pings")
	flags.Float64Var(&o.pingTimeout, "ping-timeout", 20, "seconds for the answer to one")
	flags.Float64Var(&o.pingsAllowedEvery, "pings-allowed-every", 0, "what a server bears")
	flags.IntVar(&o.limit, "limit", 4<<20, "bytes of a message that is taken")
	if len(os.Args) < 2 {
		fail(errors.New("say client or server"))
	}
	flags.Parse(os.Args[2:])
	switch os.Args[1] {
	case "client":
		runClient(o)
	case "server":
		runServer(o)
	default:
		fail(errors.New("say client or server"))
	}
}

func fail(err error) {
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

// secured is what the files say, or nil where there are none.
func (o options) secured() *tls.Config {
	made, err := o.files.Config()
	if err != nil {
		fail(err)
	}
	return made
}

func seconds(given float64) time.Duration { return time.Duration(given * float64(time.Second)) }

var shown = protojson.MarshalOptions{UseProtoNames: true}

func sayMessage(call string, message proto.Message) {
	text, err := shown.Marshal(message)
	if err != nil {
		fail(err)
	}
	lines.Say("message", lines.Event{"call": call, "message": json.RawMessage(text)})
}

// read makes a message of its JSON form.
func read[T any, P interface {
	*T
	proto.Message
}](text json.RawMessage) (P, error) {
	message := P(new(T))
	if len(text) == 0 {
		return message, nil
	}
	return message, protojson.Unmarshal(text, message)
}
