package api_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/api"
	"github.com/rota-run/rota/internal/proof/must"
)

// BenchmarkSlowReaders: 150 connections ask for 10,000 of 100,000 tasks and read nothing. It reports by how much the
// live memory and the process have grown.
//
//	go test ./internal/api -run xxx -bench SlowReaders -benchtime 1x
func BenchmarkSlowReaders(b *testing.B) {
	const tasks, readers, patience = 100_000, 150, 3 * time.Second
	var v cluster.Value
	for i := range tasks {
		v, _ = v.Do(v.Index()+1, 1, cluster.SubmitJob{Job: cluster.JobID(fmt.Sprintf("j%06d", i)),
			Spec: cluster.JobSpec{Tasks: []cluster.TaskSpec{{Type: "noop", Definition: []byte("{}")}}}})
	}
	for b.Loop() {
		l, err := api.Listen("127.0.0.1:0", api.Access{})
		must.Succeed(b, err)
		ctx, cancel := context.WithCancel(b.Context())
		served := make(chan error, 1)
		go func() { served <- api.Serve(ctx, l, api.Config{Value: func() cluster.Value { return v }}) }()
		live, process := heap(), resident(b)
		for range readers {
			c, err := net.Dial("tcp", l.Addr().String())
			must.Succeed(b, err)
			defer c.Close()
			must.Succeed(b, must.Err(fmt.Fprint(c, "GET /v1/tasks?limit=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n")))
		}
		time.Sleep(patience) // waits: a benchmark, for what slow readers hold
		b.ReportMetric(float64(resident(b)-process)/(1<<20), "MB-process")
		b.ReportMetric((float64(heap())-float64(live))/(1<<20), "MB-live")
		cancel()
		must.Succeed(b, <-served)
	}
	runtime.KeepAlive(v)
}

// resident is the memory of this process, in bytes.
func resident(b *testing.B) (bytes int64) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skipf("NOT MEASURED: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			must.Succeed(b, must.Err(fmt.Sscan(rest, &bytes)))
		}
	}
	return bytes << 10
}
