package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store/memory"
)

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullDisk: a command does not succeed where what it prints is not all there.
func TestFullDisk(t *testing.T) {
	w := newWritten(t, map[cluster.JobID]cluster.JobSpec{"web": {Tasks: []cluster.TaskSpec{{Name: "web", Type: "noop"}}}})
	w.write("tasks/web.yaml", "type: noop\n")
	must.Succeed(t, journal.NewDocs(w.st, "a", 0).Append(t.Context(), journal.Record{
		AtMS: time.Now().UnixMilli(), Kind: journal.RunError, Partition: "web"}))
	for _, line := range []string{"--help", "version", "validate tasks", "simulate --help", "events --store file:store",
		"why web --store file:store", "task list --store file:store", "member plan a --store file:store"} {
		var errs bytes.Buffer
		e := env{args: strings.Fields(line), stdin: strings.NewReader(""), stdout: fullDisk{}, stderr: &errs,
			getenv: func(string) string { return "" }}
		if code := execute(e); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("rota %s on a full disk exits with %d, and says %q", line, code, errs.String())
		}
	}
}

// TestFollowersEndOnAFullDisk: a command that follows ends with the first record or state that it cannot write.
func TestFollowersEndOnAFullDisk(t *testing.T) {
	for name, follow := range map[string]func(context.Context, *observer) error{
		"events": func(ctx context.Context, o *observer) error {
			follower := tail{o: o, query: journal.Query{}, shown: make(map[string]int64)}
			return follower.follow(ctx)
		},
		"status": func(ctx context.Context, o *observer) error {
			return o.watch(ctx, func() (bool, error) {
				fmt.Fprintln(o.stdout, "all is well")
				return false, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				s := memory.New().Open()
				defer s.Close()
				o, _ := within(t, s)
				o.stdout = &printout{to: fullDisk{}}
				ended := make(chan error, 1)
				go func() { ended <- follow(t.Context(), o) }()
				must.Succeed(t, journal.NewDocs(s, "a", 0).Append(t.Context(), journal.Record{
					AtMS: time.Now().UnixMilli(), Kind: journal.RunError, Partition: "web"}))
				select {
				case err := <-ended:
					if !errors.Is(err, syscall.ENOSPC) {
						t.Error("it ends with", err)
					}
				case <-time.After(time.Minute):
					t.Error("it has not ended within a minute")
				}
			})
		})
	}
}
