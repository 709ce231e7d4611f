package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/internal/work/supervisor"
	"github.com/rota-run/rota/proof/process"
	"github.com/rota-run/rota/publish"
)

// settle is how long a member runs before its rounds count.
const settle = 15 * time.Second

// watch runs members with many checks, without and with sinks, and prints how late their rounds begin.
func watch(ctx context.Context, checks int, span time.Duration, broker, search string) error {
	dir, err := os.MkdirTemp("", "rota-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := process.Build(ctx, dir, process.Rota); err != nil {
		return err
	}
	if err := writeTask(dir, checks); err != nil {
		return err
	}
	fmt.Printf("\n%d checks, one sample each 10 s, on one member, %v:\n\n", checks, span)
	fmt.Println("| samples to | rounds/s | lateness p50 | p99 | most | samples sent | dropped | CPU of the member |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for i, sinks := range [][]string{{"none"}, {"kafka://" + broker + "?topic=" + name},
		{"elastic://" + search + "?index=" + name}, {"none"}} {
		if err := watchOne(ctx, dir, fmt.Sprint("store", i), sinks, span); err != nil {
			return err
		}
	}
	return nil
}

// writeTask writes one task of as many partitions.
func writeTask(dir string, checks int) error {
	var text bytes.Buffer
	text.WriteString("type: noop\nevery: 10s\nspread: partitioned\nconfig: {emit: true}\npartitions: [")
	for i := range checks {
		fmt.Fprintf(&text, "c%05d,", i)
	}
	text.WriteString("]\n")
	if err := os.MkdirAll(filepath.Join(dir, "tasks"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tasks", "checks.yaml"), text.Bytes(), 0o600)
}

// local is what a member says of itself.
type local struct {
	Local struct {
		Work struct {
			Lateness supervisor.Lateness `json:"lateness"`
		} `json:"work"`
		Sinks []publish.Status `json:"sinks"`
	} `json:"local"`
}

func watchOne(ctx context.Context, dir, store string, sinks []string, span time.Duration) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	l.Close()
	args := []string{"run", "--store", "file:" + store, "--member", "a", "--listen", address, "tasks"}
	for _, s := range sinks {
		args = append(args, "--publish", s)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "rota"), args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	p, err := process.Start(cmd)
	if err != nil {
		return err
	}
	defer func() { _ = p.Kill() }()
	time.Sleep(settle)
	before, used := now(ctx, address), process.UsageOf(p.PID()).CPU
	time.Sleep(span)
	after, usedNow := now(ctx, address), process.UsageOf(p.PID()).CPU
	var sent, dropped int64
	for i, s := range after.Local.Sinks[:min(len(after.Local.Sinks), len(before.Local.Sinks))] {
		sent += s.Sent - before.Local.Sinks[i].Sent
		dropped += s.Dropped - before.Local.Sinks[i].Dropped
	}
	late := after.Local.Work.Lateness
	rounds := late.Rounds - before.Local.Work.Lateness.Rounds
	where, _, _ := strings.Cut(sinks[0], ":")
	fmt.Printf("| %s | %.0f | %.1f ms | %.1f ms | %.1f ms | %d | %d | %.2f cores |\n", where,
		float64(rounds)/span.Seconds(),
		float64(late.P50US)/1000, float64(late.P99US)/1000, float64(late.MaxUS)/1000, sent, dropped,
		(usedNow-used).Seconds()/span.Seconds())
	return nil
}

// now is the status of the member; empty where it does not answer.
func now(ctx context.Context, address string) (out local) {
	if err := call(ctx, address, "GET", "/v1/status", "", &out); err != nil {
		fmt.Fprintln(os.Stderr, "publish: ask the member:", err)
	}
	return out
}
