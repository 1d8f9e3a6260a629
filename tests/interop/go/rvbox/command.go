package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	rv "fleetgate.example/interop/gen/rvbox"
	"fleetgate.example/interop/lines"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// command is one that was accepted and is not acknowledged to its end.
type command struct {
	uuid      string
	hash      []byte
	revision  uint64
	spec      *rv.ExecutionSpec
	lifecycle rv.CommandLifecycle
	events    []*rv.CommandEvent // those not acknowledged
	last      uint64
	running   bool
	ended     bool
	gone      bool // the server wants to hear no more of it
	signalled bool
	timedOut  bool
	process   *os.Process
	stdin     chan write
	written   uint64
	closed    bool
	script    script
	offsets   [3]uint64
}

type write struct {
	seq  uint64
	data []byte
	end  bool
}

// script is one that is being uploaded, or is here.
type script struct {
	wanted *rv.ScriptRef
	data   []byte
	whole  bool
}

func (s *script) reset() {
	if !s.whole {
		s.data = nil
	}
}

var canonical = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (c *client) dispatched(link *link, m *rv.CommandDispatch) error {
	code, text := c.judge(link, m)
	answer := &rv.CommandAccepted{
		IssueUuid: m.IssueUuid, CommandRevision: m.CommandRevision, Accepted: code == 0,
	}
	if code != 0 {
		answer.Rejection = &rv.ControlError{Code: code, Message: text}
		return link.send(answer)
	}
	known := c.commands[m.IssueUuid]
	if known != nil {
		known.revision = m.CommandRevision
		return link.send(answer)
	}
	made := &command{
		uuid: m.IssueUuid, hash: m.ImmutableRequestSha256, revision: m.CommandRevision,
		spec: m.Spec, stdin: make(chan write, 4096), script: script{wanted: m.Spec.GetScript()},
	}
	c.commands[made.uuid] = made
	c.order = append(c.order, made)
	lines.Say("given", lines.Event{"run": made.uuid})
	err := link.send(answer)
	if made.script.wanted != nil {
		c.enter(made, rv.CommandLifecycle_COMMAND_LIFECYCLE_AWAITING_SCRIPT, 0)
	} else {
		c.enter(made, rv.CommandLifecycle_COMMAND_LIFECYCLE_QUEUED, 0)
	}
	if expiry := m.QueueExpiryTime; expiry != nil {
		time.AfterFunc(time.Until(expiry.AsTime()), func() { c.expire(made) })
	}
	c.startNext()
	c.tellCapacity()
	return err
}

// expire ends a command that has not begun by its time.
func (c *client) expire(command *command) {
	c.Lock()
	defer c.Unlock()
	switch command.lifecycle {
	case rv.CommandLifecycle_COMMAND_LIFECYCLE_QUEUED,
		rv.CommandLifecycle_COMMAND_LIFECYCLE_AWAITING_SCRIPT:
		c.exit(command, &rv.CommandExit{Lifecycle: rv.CommandLifecycle_COMMAND_LIFECYCLE_EXPIRED})
	}
}

// judge says why a dispatch is rejected; 0: it is not.
func (c *client) judge(link *link, m *rv.CommandDispatch) (rv.ControlErrorCode, string) {
	if m.TargetSessionGeneration != link.generation {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_STALE_SESSION, "for another generation"
	}
	if len(m.ImmutableRequestSha256) != 32 || !canonical.MatchString(m.IssueUuid) {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "a bad uuid or hash"
	}
	if tomb, there := c.tombs[m.IssueUuid]; there {
		if !bytes.Equal(tomb.hash, m.ImmutableRequestSha256) {
			return rv.ControlErrorCode_CONTROL_ERROR_CODE_CONFLICT, "another request"
		}
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_ALREADY_FINISHED, "it is over"
	}
	if known := c.commands[m.IssueUuid]; known != nil {
		if !bytes.Equal(known.hash, m.ImmutableRequestSha256) || m.CommandRevision < known.revision {
			return rv.ControlErrorCode_CONTROL_ERROR_CODE_CONFLICT, "another request or revision"
		}
		return 0, ""
	}
	if m.QueueExpiryTime != nil && m.QueueExpiryTime.AsTime().Before(time.Now()) {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_QUEUE_EXPIRED, "too late"
	}
	if m.Spec.GetShell() > rv.ShellType_SHELL_TYPE_BASH {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_UNSUPPORTED_SHELL, "no such shell here"
	}
	if m.Spec.GetProgram() == nil {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "no program"
	}
	if ref := m.Spec.GetScript(); ref != nil && (ref.SizeBytes > scriptLimit || len(ref.Sha256) != 32) {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "no script that is taken"
	}
	if m.Spec.Timeout != nil && m.Spec.Timeout.AsDuration() <= 0 {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "no time to run"
	}
	for name := range m.Spec.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "no name of a variable"
		}
	}
	running, queued := c.count()
	if running+queued >= uint32(c.options.running+c.options.queued) {
		return rv.ControlErrorCode_CONTROL_ERROR_CODE_QUEUE_FULL, "enough is waiting"
	}
	return 0, ""
}

// emit numbers an event, keeps it, and sends it where that is allowed now.
func (c *client) emit(command *command, event *rv.CommandEvent) {
	if command.gone || command.ended && event.GetExit() == nil {
		return
	}
	command.last++
	event.IssueUuid, event.EventSeq = command.uuid, command.last
	event.CommandRevision, event.EventTime = command.revision, timestamppb.Now()
	command.events = append(command.events, event)
	if c.link != nil && !c.held {
		c.link.send(event)
	}
}

func (c *client) enter(command *command, lifecycle rv.CommandLifecycle, pid int) {
	command.lifecycle = lifecycle
	c.emit(command, &rv.CommandEvent{Event: &rv.CommandEvent_Lifecycle{
		Lifecycle: &rv.LifecycleChanged{Lifecycle: lifecycle, Pid: uint64(pid)},
	}})
}

func (c *client) exit(command *command, exit *rv.CommandExit) {
	command.lifecycle, command.running, command.ended = exit.Lifecycle, false, true
	c.emit(command, &rv.CommandEvent{Event: &rv.CommandEvent_Exit{Exit: exit}})
	c.startNext()
	c.tellCapacity()
}

// startNext starts what waits, as far as there is room.
func (c *client) startNext() {
	for _, each := range c.order {
		if running, _ := c.count(); running >= uint32(c.options.running) {
			return
		}
		if each.lifecycle == rv.CommandLifecycle_COMMAND_LIFECYCLE_QUEUED && !each.ended {
			c.start(each)
		}
	}
}

func (c *client) start(command *command) {
	made, clean, err := command.prepare()
	var stdin io.WriteCloser
	var stdout, stderr io.ReadCloser
	if err == nil {
		if command.spec.OpenStdin {
			stdin, _ = made.StdinPipe()
		}
		stdout, _ = made.StdoutPipe()
		stderr, _ = made.StderrPipe()
		err = made.Start()
	}
	if err != nil {
		clean()
		c.exit(command, &rv.CommandExit{
			Lifecycle: rv.CommandLifecycle_COMMAND_LIFECYCLE_FAILED_TO_START,
			Error: &rv.ControlError{
				Code: rv.ControlErrorCode_CONTROL_ERROR_CODE_INTERNAL, Message: err.Error(),
			},
		})
		return
	}
	command.process, command.running = made.Process, true
	lines.Say("started", lines.Event{"run": command.uuid})
	c.enter(command, rv.CommandLifecycle_COMMAND_LIFECYCLE_RUNNING, made.Process.Pid)
	if stdin != nil {
		go c.feed(command, stdin)
	}
	go func() {
		defer clean()
		c.attend(command, made, stdout, stderr)
	}()
}

// prepare makes the process of a command, and what there is to remove behind it.
func (command *command) prepare() (*exec.Cmd, func(), error) {
	clean := func() {}
	shell := "/bin/sh"
	if command.spec.Shell == rv.ShellType_SHELL_TYPE_BASH {
		shell = "/bin/bash"
	}
	var argv []string
	switch program := command.spec.Program.(type) {
	case *rv.ExecutionSpec_CommandLine:
		argv = []string{shell, "-c", program.CommandLine}
	case *rv.ExecutionSpec_Argv:
		argv = program.Argv.GetArgs()
	case *rv.ExecutionSpec_Script:
		file, err := os.CreateTemp("", "rvbox-script-")
		if err != nil {
			return nil, clean, err
		}
		clean = func() { os.Remove(file.Name()) }
		_, err = file.Write(command.script.data)
		if err := errors.Join(err, file.Chmod(0o700), file.Close()); err != nil {
			return nil, clean, err
		}
		argv = append([]string{file.Name()}, program.Script.GetArgs()...)
		if s := command.spec.Shell; s > rv.ShellType_SHELL_TYPE_NONE {
			argv = append([]string{shell}, argv...)
		}
	}
	if len(argv) == 0 {
		return nil, clean, errors.New("an empty program")
	}
	made := exec.Command(argv[0], argv[1:]...)
	made.Dir = command.spec.Cwd
	made.Env = os.Environ()
	for name, value := range command.spec.Env {
		made.Env = append(made.Env, name+"="+value)
	}
	made.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return made, clean, nil
}

// attend reads what a process says and tells how it ends.
func (c *client) attend(command *command, made *exec.Cmd, stdout, stderr io.ReadCloser) {
	if after := command.spec.Timeout; after != nil {
		timer := time.AfterFunc(after.AsDuration(), func() {
			c.Lock()
			defer c.Unlock()
			if !command.ended {
				command.timedOut = true
				syscall.Kill(-made.Process.Pid, syscall.SIGTERM)
			}
		})
		defer timer.Stop()
	}
	read := make(chan struct{})
	go func() {
		inner := make(chan struct{})
		go func() {
			defer close(inner)
			c.relay(command, rv.OutputStream_OUTPUT_STREAM_STDERR, stderr)
		}()
		c.relay(command, rv.OutputStream_OUTPUT_STREAM_STDOUT, stdout)
		<-inner
		close(read)
	}()
	state, err := made.Process.Wait()
	if err != nil {
		fail(err)
	}
	select {
	case <-read:
	case <-time.After(5 * time.Second): // children hold its output open
	}
	stdout.Close()
	stderr.Close()
	c.Lock()
	defer c.Unlock()
	c.exit(command, command.verdict(state.Sys().(syscall.WaitStatus)))
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL",
	syscall.SIGHUP: "SIGHUP",
}

func (command *command) verdict(status syscall.WaitStatus) *rv.CommandExit {
	exit := &rv.CommandExit{Lifecycle: rv.CommandLifecycle_COMMAND_LIFECYCLE_EXITED}
	if status.Signaled() {
		exit.Signal = signalNames[status.Signal()]
		if command.signalled {
			exit.Lifecycle = rv.CommandLifecycle_COMMAND_LIFECYCLE_CANCELED
		}
	} else {
		code := int32(status.ExitStatus())
		exit.ExitCode = &code
	}
	if command.timedOut {
		exit.Lifecycle = rv.CommandLifecycle_COMMAND_LIFECYCLE_TIMED_OUT
	}
	return exit
}

func (c *client) relay(command *command, stream rv.OutputStream, from io.Reader) {
	buffer := make([]byte, pieceLimit)
	for {
		size, err := from.Read(buffer)
		if size > 0 {
			c.Lock()
			chunk := &rv.OutputChunk{
				Stream: stream, Data: bytes.Clone(buffer[:size]), Offset: command.offsets[stream],
			}
			command.offsets[stream] += uint64(size)
			c.emit(command, &rv.CommandEvent{Event: &rv.CommandEvent_Output{Output: chunk}})
			c.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// --- what is asked of a command

func (c *client) find(uuid string) (*command, error) {
	if command := c.commands[uuid]; command != nil {
		return command, nil
	}
	return nil, about(uuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_NOT_FOUND, "no such command")
}

func (c *client) input(uuid string, seq uint64, data []byte, end bool) error {
	command, err := c.find(uuid)
	if err != nil {
		return err
	}
	switch {
	case seq <= command.written:
		return nil
	case seq > command.written+1:
		return about(uuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_OUT_OF_ORDER, "a write is missing")
	case command.closed || !command.spec.OpenStdin:
		return about(uuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "no open stdin")
	}
	command.written, command.closed = seq, end
	command.stdin <- write{seq, data, end}
	return nil
}

// feed writes what came to the process, and acknowledges it.
func (c *client) feed(command *command, stdin io.WriteCloser) {
	for each := range command.stdin {
		stdin.Write(each.data)
		if each.end {
			stdin.Close()
		}
		c.Lock()
		if !command.ended {
			c.emit(command, &rv.CommandEvent{Event: &rv.CommandEvent_StdinAck{
				StdinAck: &rv.StdinAck{ThroughWriteSeq: each.seq},
			}})
		}
		c.Unlock()
		if each.end {
			return
		}
	}
}

var signals = map[rv.SignalKind]syscall.Signal{
	rv.SignalKind_SIGNAL_KIND_INTERRUPT: syscall.SIGINT,
	rv.SignalKind_SIGNAL_KIND_TERMINATE: syscall.SIGTERM,
	rv.SignalKind_SIGNAL_KIND_KILL:      syscall.SIGKILL,
	rv.SignalKind_SIGNAL_KIND_HANGUP:    syscall.SIGHUP,
}

func (c *client) signalled(m *rv.SignalCommand) error {
	if _, there := c.tombs[m.IssueUuid]; there {
		return nil
	}
	command, err := c.find(m.IssueUuid)
	if err != nil {
		return err
	}
	signal, known := signals[m.Signal]
	switch {
	case !known:
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT, "no signal")
	case m.CommandRevision != command.revision:
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_CONFLICT, "another revision")
	case command.ended:
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_NOT_FOUND, "it is over")
	case !command.running:
		c.exit(command, &rv.CommandExit{Lifecycle: rv.CommandLifecycle_COMMAND_LIFECYCLE_CANCELED})
	default:
		command.signalled = true
		syscall.Kill(-command.process.Pid, signal)
	}
	return nil
}

func (command *command) kill() {
	if command.running {
		syscall.Kill(-command.process.Pid, syscall.SIGKILL)
	}
}

func (c *client) chunk(m *rv.ScriptChunk) error {
	command, err := c.find(m.IssueUuid)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(m.Data)
	switch {
	case command.script.wanted == nil || command.script.whole || len(m.Data) > pieceLimit:
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT,
			"a chunk that nobody waits for, or is too long")
	case m.Offset != uint64(len(command.script.data)):
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_OUT_OF_ORDER, "wrong offset")
	case !bytes.Equal(sum[:], m.Sha256):
		command.script.reset()
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_CHECKSUM_MISMATCH, "chunk")
	}
	command.script.data = append(command.script.data, m.Data...)
	return nil
}

func (c *client) commit(m *rv.ScriptCommit) error {
	command, err := c.find(m.IssueUuid)
	if err != nil {
		return err
	}
	if command.script.wanted == nil || command.script.whole {
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_INVALID_ARGUMENT,
			"no upload is under way")
	}
	sum := sha256.Sum256(command.script.data)
	size := uint64(len(command.script.data))
	if size != m.SizeBytes || !bytes.Equal(sum[:], m.Sha256) ||
		size != command.script.wanted.SizeBytes || !bytes.Equal(sum[:], command.script.wanted.Sha256) {
		command.script.reset()
		return about(m.IssueUuid, rv.ControlErrorCode_CONTROL_ERROR_CODE_CHECKSUM_MISMATCH, "whole")
	}
	command.script.whole = true
	c.enter(command, rv.CommandLifecycle_COMMAND_LIFECYCLE_QUEUED, 0)
	c.startNext()
	c.tellCapacity()
	return nil
}
