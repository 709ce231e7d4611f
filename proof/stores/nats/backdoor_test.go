package nats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// most is the largest document and record that a server of the usual max_payload takes: 1 KiB is kept free for headers.
const most = 1<<20 - headerRoom

const headerRoom = 1 << 10

// backdoor reads and damages what a store keeps, with the vendor's client: the layout is the one that the store's
// package documents.
type backdoor struct {
	js     jetstream.JetStream
	bucket string
}

// backdoorTo connects to the servers, by default to the one that all tests share.
func backdoorTo(t testing.TB, bucket string, servers ...string) backdoor {
	t.Helper()
	if len(servers) == 0 {
		servers = []string{address}
	}
	conn := connect(t, strings.Join(servers, ","))
	js := must.Get(jetstream.New(conn))(t)
	return backdoor{js, bucket}
}

// connect connects the vendor's client, and tries again where the server does not answer in time.
func connect(t testing.TB, servers string) *nc.Conn {
	t.Helper()
	ctx := rig.Deadline(t)
	for {
		conn, err := nc.Connect(servers, nc.MaxReconnects(-1))
		if err == nil {
			t.Cleanup(conn.Close)
			return conn
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func (b backdoor) docs() string               { return "KV_" + b.bucket }
func (b backdoor) log() string                { return "ROTA_" + b.bucket + "_log" }
func (b backdoor) logSubject() string         { return "rota." + b.bucket + ".log" }
func (b backdoor) subject(name string) string { return "$KV." + b.bucket + "." + name }

// doc is the subject of a document whose key has letters, digits and slashes alone.
func (b backdoor) doc(key string) string {
	return b.subject("d." + strings.ReplaceAll(key, "/", "."))
}

func (b backdoor) stream(t testing.TB, name string) jetstream.Stream {
	t.Helper()
	s, err := b.js.Stream(rig.Deadline(t), name)
	if err != nil {
		t.Fatalf("stream %s: %v", name, err)
	}
	return s
}

// newest is the newest message of a subject of the documents' stream.
func (b backdoor) newest(t testing.TB, subject string) *jetstream.RawStreamMsg {
	t.Helper()
	m, err := b.stream(t, b.docs()).GetLastMsgForSubject(rig.Deadline(t), subject)
	if err != nil {
		t.Fatalf("newest message of %s: %v", subject, err)
	}
	return m
}

func (b backdoor) write(t testing.TB, subject, data string) {
	t.Helper()
	if _, err := b.js.Publish(rig.Deadline(t), subject, []byte(data)); err != nil {
		t.Fatalf("write %s: %v", subject, err)
	}
}

// leader is the node that leads a stream, "" if there is none or nobody knows.
func (b backdoor) leader(stream string) string {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience/10)
	defer cancel()
	s, err := b.js.Stream(ctx, stream)
	if err != nil || s.CachedInfo().Cluster == nil {
		return ""
	}
	return s.CachedInfo().Cluster.Leader
}

// bareGet asks a node for the newest message of a subject of the documents' stream, and believes it.
func bareGet(ctx context.Context, conn *nc.Conn, b backdoor, subject string) (string, error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": subject})
	if err != nil {
		return "", err
	}
	m, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+b.docs(), request)
	if err != nil {
		return "", err
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return "", err
	}
	if answer.Error != nil {
		return "", errors.New(answer.Error.Description)
	}
	return string(answer.Message.Data), nil
}

// noise is data that does not repeat itself.
func noise(seed uint64, size int) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data)
	return data
}

func appendN(t *testing.T, s *nats.Store, n int) []uint64 {
	t.Helper()
	indexes := make([]uint64, n)
	for i := range indexes {
		var err error
		if indexes[i], err = s.Append(rig.Deadline(t), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	return indexes
}

func saveAt(t *testing.T, s *nats.Store, index uint64, data []byte) {
	t.Helper()
	must.Succeed(t, s.SaveSnapshot(rig.Deadline(t), store.Record{Index: index, Data: data}))
}

func wantSnapshot(t *testing.T, s *nats.Store, index uint64, data []byte) {
	t.Helper()
	r, err := s.Snapshot(rig.Deadline(t))
	if err != nil || r.Index != index || !bytes.Equal(r.Data, data) {
		t.Fatalf("snapshot at %d with %d bytes, %v; want %d and %d", r.Index, len(r.Data), err, index, len(data))
	}
}
