package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

type contextFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Digest  string `json:"digest"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
	Placement   string         `json:"placement"`
}

type skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Digest      string `json:"digest"`
}

type slash struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint,omitempty"`
	Placeholder string `json:"placeholder,omitempty"`
	Digest      string `json:"digest,omitempty"`
}

type system struct {
	IsGitRepo bool   `json:"isGitRepo"`
	Platform  string `json:"platform"`
	OSVersion string `json:"osVersion"`
	Date      string `json:"date"`
}

type config struct {
	AllowedCommands     []string          `json:"allowedCommands,omitempty"`
	ToolMode            string            `json:"toolMode,omitempty"`
	EnableFSSearchTools bool              `json:"enableFSSearchTools,omitempty"`
	SystemPromptPath    string            `json:"systemPromptPath,omitempty"`
	SystemPromptContent string            `json:"systemPromptContent,omitempty"`
	SystemPromptArgs    map[string]string `json:"systemPromptArgs,omitempty"`
	SystemInformation   *system           `json:"systemInformation,omitempty"`
}

type manifestFlags struct {
	ToolUpdates        bool `json:"toolUpdates"`
	InteractiveUI      bool `json:"interactiveUI"`
	PersistentSurfaces bool `json:"persistentSurfaces"`
	Commands           bool `json:"commands"`
}

// manifest has its members in the order of section 10.1, which the digest goes by.
type manifest struct {
	ProtocolVersion     int           `json:"protocolVersion"`
	RunnerID            string        `json:"runnerId"`
	RunID               string        `json:"runId"`
	Generation          int64         `json:"generation"`
	Digest              string        `json:"digest"`
	WorkingDirectory    string        `json:"workingDirectory"`
	ContextFiles        []contextFile `json:"contextFiles"`
	Tools               []tool        `json:"tools"`
	Skills              []skill       `json:"skills"`
	Commands            []slash       `json:"commands"`
	Config              config        `json:"config"`
	ExtensionGeneration int64         `json:"extensionGeneration"`
	Capabilities        manifestFlags `json:"capabilities"`
}

func hashed(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digest is that of the manifest without what differs from run to run: section 10.3.
func (m manifest) digest() (string, error) {
	m.RunnerID, m.RunID, m.Digest, m.Generation, m.ExtensionGeneration = "", "", "", 0, 0
	m.Config.SystemInformation = nil
	data, err := json.Marshal(m)
	return hashed(data), err
}

// check is what a control plane looks at: section 10.2.
func (m manifest) check(runner, run string, generation int64, reserved []string) error {
	if m.ProtocolVersion != 1 {
		return fmt.Errorf("runner manifest uses protocol version %d", m.ProtocolVersion)
	}
	if m.RunnerID != runner || m.RunID != run || m.Generation != generation {
		return fmt.Errorf("runner manifest identity does not match opened run")
	}
	names := map[string]bool{}
	for _, each := range m.Tools {
		switch {
		case strings.TrimSpace(each.Name) == "":
			return fmt.Errorf("runner manifest contains a tool without a name")
		case slices.Contains(reserved, each.Name):
			return fmt.Errorf("runner tool %s collides with a reserved control-plane tool", each.Name)
		case each.Placement != "environment":
			return fmt.Errorf("runner tool %s has invalid placement %q", each.Name, each.Placement)
		case names[each.Name]:
			return fmt.Errorf("runner manifest contains duplicate tool %s", each.Name)
		}
		names[each.Name] = true
	}
	if s := m.Config.SystemInformation; s != nil {
		if strings.TrimSpace(s.Platform) == "" || strings.TrimSpace(s.OSVersion) == "" {
			return fmt.Errorf("runner manifest system information is not whole")
		}
		if _, err := time.Parse(time.DateOnly, s.Date); err != nil {
			return fmt.Errorf("runner manifest system information has an invalid date")
		}
	}
	if digest, err := m.digest(); err != nil || m.Digest != digest {
		return fmt.Errorf("runner manifest digest does not match its contents")
	}
	paths := map[string]bool{}
	for _, each := range m.ContextFiles {
		if strings.TrimSpace(each.Path) == "" || paths[each.Path] ||
			each.Digest != hashed([]byte(each.Content)) {
			return fmt.Errorf("a context file is not what the manifest says")
		}
		paths[each.Path] = true
	}
	return nil
}
