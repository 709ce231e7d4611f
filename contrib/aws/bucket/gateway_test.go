package bucket_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/rota-run/rota/contrib/aws/bucket"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/output"
	"github.com/rota-run/rota/internal/proof/port"
)

// gateway starts a real gateway on a directory, or skips the test.
func gateway(t *testing.T) *bed {
	t.Helper()
	t.Parallel()
	program := os.Getenv("ROTA_VERSITYGW")
	if program == "" {
		found, err := exec.LookPath("versitygw")
		if err != nil {
			t.Skip("no real gateway: NOT RUN. go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, or set ROTA_VERSITYGW to it")
		}
		program = found
	}
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	addr := addrs[0]
	cmd := exec.Command(program, "--access", "ak", "--secret", "hunter2hunter2", "--port", addr, "posix", t.TempDir()) //nolint:gosec // chosen by who tests
	cmd.Dir = t.TempDir()
	log, err := os.Create(filepath.Join(cmd.Dir, "log"))
	must.Succeed(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	b := &bed{t: t, store: newStore(), requests: map[string]int{}, logs: output.New(t)}
	b.use("http://" + addr)
	b.awaitFree("the gateway serves", func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		_, err := b.client.ListBuckets(ctx, &s3.ListBucketsInput{})
		return err == nil
	})
	for _, name := range []string{"logs", "done"} {
		must.Succeed(t, must.Err(b.client.CreateBucket(b.ctx, &s3.CreateBucketInput{Bucket: &name})))
	}
	return b
}

// The same on a gateway that is not written for tests: names that sort otherwise as files, marks with conditions,
// deletes.
func TestOnARealGateway(t *testing.T) {
	b := gateway(t)
	var want []string
	put := func(name, content string) {
		b.put("logs", name, content)
		want = append(want, name+" "+content)
	}
	for i := range 120 {
		put(fmt.Sprintf("2026/%03d.log", i), "x")
	}
	for _, odd := range []string{"2026-a/x", "2026.b", "2026/a b+%20c", "2026/ü", "20/a/b/c/d"} {
		put(odd, "y")
	}
	b.run(b.config(), b.objects(nil), "s3://logs/")
	b.once(want...)
	b.taken = nil
	m := b.join("b", bucket.NewType("objects", b.objects(nil)))
	c := b.config()
	c.Follow, c.Marks = bucket.Marks, "s3://done/"
	must.Succeed(t, m.Submit(b.ctx, "marks", bucket.Task("objects", c, "s3://logs/")))
	b.await("all are taken", func() bool { return len(b.taken) >= len(want) })
	b.put("logs", "2026/007.log", "new")
	want = append(want, "2026/007.log new")
	b.await("the changed one is taken", func() bool { return len(b.taken) >= len(want) })
	b.once(want...)
}
