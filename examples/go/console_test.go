package console

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/console/fake"
)

func daemon(t *testing.T, words ...string) (*fake.Fake, string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "run", "agent.sock")
	first := []string{"agency-daemon", "--socket", socket, "--script", "testdata/script.toml"}
	return fake.Start(t, append(first, words...)...), socket
}

func never(string) bool { return false }

func TestARunIsWatchedToItsEnd(t *testing.T) {
	_, socket := daemon(t)
	result, err := Run(socket, "run-1", "count", never)
	if err != nil {
		t.Fatal(err)
	}
	if result.Text != strings.Repeat("x", 30) || result.State != "finished" {
		t.Fatalf("%+v", result)
	}
}

func TestAFailureIsOne(t *testing.T) {
	_, socket := daemon(t)
	if result, err := Run(socket, "run-1", "break", never); err != nil || result.State != "failed" {
		t.Fatalf("%+v, %v", result, err)
	}
}

func TestWhoeverMayDecideIsAsked(t *testing.T) {
	daemon, socket := daemon(t, "--frames")
	var title string
	_, err := Run(socket, "run-1", "deploy", func(asked string) bool {
		title = asked
		return true
	})
	if err != nil || title != "Really deploy?" {
		t.Fatalf("%q, %v", title, err)
	}
	decided := daemon.Until(fake.Line{"event": "frame", "dir": "in", "name": "decide_approval"})
	if message := decided["message"].(map[string]any); message["decision"] != "allow_once" {
		t.Fatalf("%v", message)
	}
}

// Each link is cut after twelve frames, so the run takes several; nothing may be missing in the
// end, and nothing may be there twice.
func TestLinksThatBreakLoseNothing(t *testing.T) {
	_, socket := daemon(t, "--fault", "drop_after=12")
	result, err := Run(socket, "run-1", "count", never)
	if err != nil {
		t.Fatal(err)
	}
	if result.Text != strings.Repeat("x", 30) || result.Links < 3 {
		t.Fatalf("%+v", result)
	}
}
