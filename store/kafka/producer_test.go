package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/store"
)

func newTestTopic() *topic { return &topic{name: "t", line: &line{log: slog.New(slog.DiscardHandler)}} }

// TestBatch: a batch is what a consumer takes for one, with the records in their order, and the numbers of its
// producer.
func TestBatch(t *testing.T) {
	t.Parallel()
	records := [][]byte{[]byte("one"), nil, []byte(strings.Repeat("x", 70_000)), []byte("four")}
	raw := (&producer{id: 7, epoch: 2, next: 40}).batch(records)
	const offset = 1000
	binary.BigEndian.PutUint64(raw, offset) // as the broker does
	var b kmsg.RecordBatch
	must.Succeed(t, b.ReadFrom(raw))
	if b.ProducerID != 7 || b.ProducerEpoch != 2 || b.FirstSequence != 40 || b.NumRecords != 4 {
		t.Errorf("%+v", b)
	}
	for from := range 4 { // also from the middle on, where it was trimmed
		topic := newTestTopic()
		got := must.Get(topic.decode(&kmsg.FetchResponseTopicPartition{RecordBatches: raw}, offset+int64(from)))(t)
		if len(got.records) != 4-from || got.next != offset+4 {
			t.Fatalf("from %d: %d records, next %d", from, len(got.records), got.next)
		}
		for i, r := range got.records {
			data, ok, err := topic.ours(r)
			want := from + i
			if err != nil || !ok || string(data) != string(records[want]) || r.Offset != int64(offset+want) {
				t.Errorf("from %d, record %d: offset %d, %d bytes, ours %v, %v", from, i, r.Offset, len(data), ok, err)
			}
		}
	}
}

// TestFitting: what fits into a batch makes one that Kafka takes, and one record more would not, or might not.
func TestFitting(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 63, 64, 2000, 2048, 16_000, 116_463, 1 << 18, MaxRecord + 1,
		MaxRecord + 1 + overhead/2} { // 116,463: nine make the largest batch that there is
		records := slices.Repeat([][]byte{make([]byte, size)}, 2*batchMost)
		n := fitting(records)
		if len((&producer{}).batch(records[:max(n, 1)])) > maxBatch || n < 1 || n > batchMost {
			t.Errorf("%d records of %d bytes are too large", n, size)
		}
		if n < batchMost && (n+1)*(size+recordHead)+batchHead <= maxBatch {
			t.Errorf("only %d records of %d bytes", n, size)
		}
		if got := fitting(records[:1]); got != 1 {
			t.Errorf("a record of %d bytes does not fit", size)
		}
	}
}

// TestFormats: what another version wrote is refused. What others wrote is skipped, whatever its headers.
func TestFormats(t *testing.T) {
	t.Parallel()
	data := []byte("data")
	sum := sumOf(data)[1:]
	for name, c := range map[string]struct {
		key, value string
		ours       bool
		refused    string
	}{
		"ours":            {mark, "\x02" + string(sum), true, ""},
		"newer":           {mark, "\x03" + string(sum), false, "use a newer version"},
		"much newer":      {mark, "\x04 and more" + string(sum), false, "use a newer version"},
		"older":           {mark, string(sum), false, "only earlier versions of Rota read it"},
		"another sum":     {mark, "\x02abcd", false, ""},
		"newer, no sum":   {mark, "\x03abcd", false, ""},
		"another header":  {"other", "\x02" + string(sum), false, ""},
		"an empty header": {mark, "", false, ""},
	} {
		r := &kgo.Record{Value: data, Headers: []kgo.RecordHeader{{Key: "other", Value: sum}}}
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: c.key, Value: []byte(c.value)})
		got, ok, err := newTestTopic().ours(r)
		if ok != c.ours || errors.Is(err, ErrDamaged) != (c.refused != "") || err != nil &&
			!strings.Contains(err.Error(), c.refused) || ok && string(got) != "data" {
			t.Errorf("%s: %q, %v, %v", name, got, ok, err)
		}
	}
}

// TestHeadBelow: a head answers for an end that it has reached, unless its newest record was appended after that end.
func TestHeadBelow(t *testing.T) {
	t.Parallel()
	known := head{end: 12, newest: 9} // 9 to 11 are foreign
	for end, want := range map[int64]bool{8: false, 9: true, 11: true, 12: true, 13: false} {
		if newest, ok := known.below(end); ok != want || ok && newest != 9 {
			t.Errorf("below %d: %d, %v", end, newest, ok)
		}
	}
	j := &journal{}
	j.saw(known)
	if j.saw(head{end: 10, newest: 10}); j.known() != known { // an answer that was late
		t.Errorf("an older head is known in its place: %+v", j.known())
	}
}

// TestOutcome: what an answer proves, alone and behind an answer that was lost.
func TestOutcome(t *testing.T) {
	t.Parallel()
	const no, maybe, forgotten = "no", "maybe", "forgotten"
	for _, c := range []struct {
		err         error
		alone, then string
	}{
		{io.EOF, maybe, maybe},
		{context.Canceled, maybe, maybe},
		{kerr.NotLeaderForPartition, no, maybe},
		{kerr.NotEnoughReplicas, no, maybe},
		{kerr.NotEnoughReplicasAfterAppend, maybe, maybe},
		{kerr.RequestTimedOut, maybe, maybe},
		{kerr.KafkaStorageError, maybe, maybe},
		{kerr.MessageTooLarge, no, maybe},
		{kerr.OutOfOrderSequenceNumber, forgotten, maybe},
		{kerr.UnknownProducerID, forgotten, maybe},
		{kerr.DuplicateSequenceNumber, maybe, maybe},
	} {
		for before, want := range map[bool]string{false: c.alone, true: c.then} {
			got := no
			switch lost, gone := outcome(fmt.Errorf("sent: %w", c.err), before); {
			case gone:
				got = forgotten
			case lost:
				got = maybe
			}
			if got != want {
				t.Errorf("%v, behind a lost answer %v: %s, want %s", c.err, before, got, want)
			}
		}
	}
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	mutanttest.AreFound(t, "store/kafka", "-test.timeout", "20s")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"an empty name of dots": {Name: ".."},
		"name":                  {Name: "a/b"},
		"a long name":           {Name: strings.Repeat("a", 201)},
		"broker":                {Brokers: []string{"k1"}},
		"timeout":               {Timeout: -1},
		"replicas":              {Replicas: -1},
		"snapshots":             {SnapshotEvery: -1},
		"user":                  {User: "rota"},
		"password":              {Password: "secret-1"},
		"mechanism":             {User: "rota", Password: "secret-1", Mechanism: "gssapi"},
	} {
		err := o.withDefaults().validate()
		if err == nil || strings.Contains(err.Error(), "secret-1") {
			t.Errorf("%s: %v, want an error without the password", name, err)
		}
		if _, opened := Open(context.Background(), o); opened == nil {
			t.Errorf("%s: opened", name)
		}
	}
	for name, o := range map[string]Options{
		"none": {},
		"all": {Brokers: []string{"k1:9092", "[::1]:9092"}, Name: "weather.eu-1_x", User: "rota", Password: "x",
			Mechanism: "plain", Replicas: 9},
	} {
		if err := o.withDefaults().validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o := (Options{ReadOnly: true}).withDefaults(); !o.MustExist {
		t.Error("who only reads may make the topics")
	}
}

func TestOpenAfterCancel(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := Open(ctx, Options{}); !errors.Is(err, cause) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("open with a ctx that has ended: %v, want its cause", err)
	}
}

// TestCreateCommand is what an administrator is told to run: it must make what Open makes.
func TestCreateCommand(t *testing.T) {
	t.Parallel()
	want := "`kafka-topics.sh --bootstrap-server HOST:PORT --create --partitions 1 --replication-factor 3 --config cleanup.policy=delete --config retention.ms=-1 " +
		"--config retention.bytes=-1 --config min.insync.replicas=2 --config unclean.leader.election.enable=false --topic rota.log`"
	if got := createCommand("rota.log", 3); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for replicas, insync := range map[int]string{1: "1", 2: "2", 3: "2", 5: "3"} {
		if got := settings(replicas)[3][1]; got != insync {
			t.Errorf("min.insync.replicas of %d replicas is %s, want %s", replicas, got, insync)
		}
	}
}
