// Command websocket echoes: as a server whatever comes, as a client what a server echoes.
//
//	websocket server -at HOST:PORT      websocket client -at ws://HOST:PORT/PATH
package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"fleetgate.example/interop/lines"
	"fleetgate.example/interop/secure"
	"github.com/coder/websocket"
)

type op struct {
	Op   string
	Data string // base64
	Kind string // binary, or text
	Code int
	Text string
}

const limit = 4 << 20

// patience is for what only hangs if something is wrong.
const patience = 2 * time.Minute

func main() {
	flags := flag.NewFlagSet("websocket", flag.ExitOnError)
	at := flags.String("at", "127.0.0.1:0", "where to dial (a URL) or to listen (HOST:PORT)")
	compress := flags.Bool("compress", false, "offer, or agree to, compression")
	var files secure.Files
	files.Flags(flags)
	flags.Parse(os.Args[min(2, len(os.Args)):])
	mode := websocket.CompressionDisabled
	if *compress {
		mode = websocket.CompressionContextTakeover
	}
	if len(os.Args) > 1 && os.Args[1] == "client" {
		client(*at, files, mode)
	} else {
		server(*at, files, mode)
	}
}

func server(at string, files secure.Files, mode websocket.CompressionMode) {
	listener, scheme, err := files.Listen(at)
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			Subprotocols: []string{"echo"}, CompressionMode: mode, InsecureSkipVerify: true,
		})
		if err != nil {
			return
		}
		defer socket.CloseNow()
		socket.SetReadLimit(limit)
		lines.Say("up", lines.Event{
			"subprotocol": socket.Subprotocol(), "authorization": r.Header.Get("Authorization"),
		})
		echo(socket)
	}))
	lines.Say("ready", lines.Event{"address": scheme + listener.Addr().String()})
	lines.Each(func(op) error { return nil })
}

func echo(socket *websocket.Conn) {
	ctx := context.Background()
	for {
		kind, data, err := socket.Read(ctx)
		if err == nil && string(data) == "close me" {
			socket.Close(4321, "as you wish")
			return
		}
		if err == nil && string(data) == "ping me" {
			err = pinged(socket)
		}
		if err == nil {
			err = socket.Write(ctx, kind, data)
		}
		if err != nil {
			lines.Say("down", lines.Event{"code": int(websocket.CloseStatus(err)), "why": err.Error()})
			return
		}
	}
}

// pinged asks three times; the answers come while something reads.
func pinged(socket *websocket.Conn) error {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for range 3 {
			if err := socket.Ping(ctx); err != nil {
				return
			}
		}
		lines.Say("pongs", nil)
	}()
	return nil
}

func client(at string, files secure.Files, mode websocket.CompressionMode) {
	dialler, err := files.Client()
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	header := http.Header{"Authorization": []string{"Bearer s3cret"}}
	socket, answer, err := websocket.Dial(ctx, at, &websocket.DialOptions{
		HTTPClient: dialler, HTTPHeader: header,
		Subprotocols: []string{"other", "echo"}, CompressionMode: mode,
	})
	if err != nil {
		status := 0
		if answer != nil {
			status = answer.StatusCode
		}
		lines.Say("refused", lines.Event{"status": status, "why": err.Error()})
		return
	}
	socket.SetReadLimit(limit)
	lines.Say("ready", lines.Event{"subprotocol": socket.Subprotocol()})
	done := make(chan struct{})
	go func() {
		defer close(done)
		listen(socket)
	}()
	lines.Each(func(o op) error { return do(socket, o) })
	<-done
}

func listen(socket *websocket.Conn) {
	for {
		kind, data, err := socket.Read(context.Background())
		if err != nil {
			lines.Say("down", lines.Event{"code": int(websocket.CloseStatus(err)), "why": err.Error()})
			return
		}
		name := "binary"
		if kind == websocket.MessageText {
			name = "text"
		}
		lines.Say("message", lines.Event{
			"kind": name, "data": base64.StdEncoding.EncodeToString(data),
		})
	}
}

func do(socket *websocket.Conn, o op) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch o.Op {
	case "send":
		data, err := base64.StdEncoding.DecodeString(o.Data)
		if err != nil {
			return err
		}
		kind := websocket.MessageBinary
		if o.Kind == "text" {
			kind = websocket.MessageText
		}
		return socket.Write(ctx, kind, data)
	case "pieces": // one message, in frames of 1000 bytes
		data, err := base64.StdEncoding.DecodeString(o.Data)
		if err != nil {
			return err
		}
		writer, err := socket.Writer(ctx, websocket.MessageBinary)
		for at := 0; err == nil && at < len(data); at += 1000 {
			_, err = writer.Write(data[at:min(at+1000, len(data))])
		}
		if err != nil {
			return err
		}
		return writer.Close()
	case "ping":
		if err := socket.Ping(ctx); err != nil {
			return err
		}
		lines.Say("pong", nil)
		return nil
	case "close":
		return socket.Close(websocket.StatusCode(o.Code), o.Text)
	}
	return fmt.Errorf("no operation %q", o.Op)
}
