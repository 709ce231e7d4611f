package kinesis_test

import (
	"bytes"
	"context"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
)

// patience bounds all that a test does; it says nothing about how long things should take.
const patience = 4 * time.Minute

var keys = credentials.NewStaticCredentialsProvider("ak", "hunter2hunter2", "")

// load keeps the settings of the machine out.
var load = []func(*config.LoadOptions) error{
	config.WithCredentialsProvider(keys), config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil),
}

// server is kinesalite with one stream.
type server struct {
	*kinesis.Client
	t   *testing.T
	ctx context.Context
	url string
}

var name = aws.String("orders")

// serve starts kinesalite with a stream of so many shards, or skips the test.
func serve(t *testing.T, shards int32) *server {
	t.Helper()
	t.Parallel()
	program := os.Getenv("ROTA_KINESALITE")
	if program == "" {
		found, err := exec.LookPath("kinesalite")
		if err != nil {
			t.Skip("no server of Kinesis: NOT RUN. npm install -g kinesalite@3.3.3, or set ROTA_KINESALITE to it")
		}
		program = found
	}
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	addr := addrs[0]
	_, number, _ := strings.Cut(addr, ":")
	//nolint:gosec // chosen by who tests
	cmd := exec.Command(program, "--port", number,
		"--createStreamMs", "20", "--updateStreamMs", "20", "--shardLimit", "1000")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must.Succeed(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	must.Succeed(t, cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(func() {
		cancel()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the server says %s", text)
		}
	})
	s := &server{t: t, ctx: ctx, url: whole(t, addr)}
	s.Client = kinesis.New(kinesis.Options{BaseEndpoint: &s.url, Region: "us-east-1", Credentials: keys})
	s.await("the server serves", func() bool {
		_, err := s.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: name, ShardCount: &shards})
		return err == nil
	})
	s.await("the stream is there", s.active)
	return s
}

// whole returns the URL of a proxy that sends on whole requests, and to their ends: kinesalite itself
// ends at a request that its client breaks off, as one does that is killed.
func whole(t *testing.T, addr string) string {
	real := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		real.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// await returns when something holds, which is looked at from time to time.
func (s *server) await(what string, holds func() bool) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.t.Fatalf("it is not so: %s", what)
		}
	}
}

func (s *server) active() bool {
	out, err := s.DescribeStreamSummary(s.ctx, &kinesis.DescribeStreamSummaryInput{StreamName: name})
	return err == nil && out.StreamDescriptionSummary.StreamStatus == types.StreamStatusActive
}

// open are the shards that have not ended, in the order of their hash keys.
func (s *server) open() (open []types.Shard) {
	s.t.Helper()
	out, err := s.ListShards(s.ctx, &kinesis.ListShardsInput{StreamName: name})
	must.Succeed(s.t, err)
	for _, one := range out.Shards {
		if one.SequenceNumberRange.EndingSequenceNumber == nil {
			open = append(open, one)
		}
	}
	slices.SortFunc(open, func(a, b types.Shard) int { return first(a).Cmp(first(b)) })
	return open
}

func first(s types.Shard) *big.Int { return number(*s.HashKeyRange.StartingHashKey) }

func number(text string) *big.Int {
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// split splits a shard in the middle.
func (s *server) split(one types.Shard) {
	s.t.Helper()
	middle := new(big.Int).Add(first(one), number(*one.HashKeyRange.EndingHashKey))
	_, err := s.SplitShard(s.ctx, &kinesis.SplitShardInput{
		StreamName: name, ShardToSplit: one.ShardId, NewStartingHashKey: aws.String(middle.Rsh(middle, 1).String()),
	})
	must.Succeed(s.t, err)
}

func (s *server) merge(a, b types.Shard) {
	s.t.Helper()
	_, err := s.MergeShards(s.ctx, &kinesis.MergeShardsInput{
		StreamName: name, ShardToMerge: a.ShardId, AdjacentShardToMerge: b.ShardId,
	})
	must.Succeed(s.t, err)
}
