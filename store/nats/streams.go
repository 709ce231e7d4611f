package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/remote"
)

// formatName is the start of the mark of a bucket with a store; its number grows when an older program must not use it.
const (
	formatName    = "rota "
	formatVersion = 3
)

// docsConfig is the stream of rows and the mark: a key-value bucket with a history of one.
func (w *wire) docsConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:                   w.names.docs(),
		Description:            "Rota: documents",
		Subjects:               []string{w.names.docsSubjects()},
		MaxMsgsPerSubject:      1,
		MaxMsgs:                -1,
		MaxBytes:               -1,
		MaxConsumers:           -1,
		MaxMsgSize:             -1,
		Discard:                jetstream.DiscardNew, // a full stream refuses; it never drops messages
		Storage:                jetstream.FileStorage,
		Replicas:               replicas,
		DenyDelete:             true,
		AllowRollup:            true, // without it the server leaves no markers
		AllowDirect:            true, // only for List
		AllowMsgTTL:            true,
		SubjectDeleteMarkerTTL: time.Hour,
	}
}

// logConfig is the stream of a log. Its one subject is the only source of its sequences, so these have no gaps.
func logConfig(name, subject string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              name,
		Description:       "Rota: log",
		Subjects:          []string{subject},
		MaxMsgsPerSubject: -1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxConsumers:      -1,
		MaxMsgSize:        -1,
		Discard:           jetstream.DiscardNew,
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		DenyDelete:        true,
		AllowDirect:       true, // for many records at a time
	}
}

// ensure makes a stream, or checks the one that is there.
func (w *wire) ensure(ctx context.Context, want jetstream.StreamConfig, mustExist bool) error {
	have, err := w.streamConfig(ctx, want.Name)
	if isCode(err, codeStreamNotFound) && !mustExist {
		if have, err = w.makeStream(ctx, want); err != nil {
			return fmt.Errorf("make stream %s: %w", want.Name, err)
		}
	}
	switch {
	case isCode(err, codeStreamNotFound):
		return fmt.Errorf("stream %s: %w: no member has used this bucket yet; is its name right?", want.Name,
			store.ErrNotFound)
	case err != nil:
		return fmt.Errorf("look at stream %s: %w", want.Name, err)
	}
	if fault := differs(have, want); fault != "" {
		return fmt.Errorf("stream %s is there, but not made by Rota, or changed since: %s; give another bucket, or remove it with `nats stream rm %s`",
			want.Name, fault, want.Name)
	}
	w.replicas = max(w.replicas, have.Replicas)
	return w.served(ctx, want.Name, strings.Replace(want.Subjects[0], ">", "served", 1))
}

// served waits until messages on a subject reach its stream. A node of a cluster learns where a new stream is a moment
// after it was made, and tells publishers until then that there is none. A user who may not write hears of that now.
// Nothing is written.
func (w *wire) served(ctx context.Context, stream, subject string) error {
	if w.readOnly {
		return nil
	}
	ctx, done := w.asking(ctx)
	defer done()
	m := &nc.Msg{Subject: subject, Header: nc.Header{headerStream: {"not " + stream}}} // so the stream refuses it
	for {
		_, err := w.exchange(ctx, m)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, nc.ErrNoResponders):
			return sendError(ctx, err, false)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return sendError(ctx, err, false)
		}
	}
}

func isCode(err error, code int) bool {
	var refused *apiError
	return errors.As(err, &refused) && refused.Code == code
}

type streamInfo struct {
	Config  jetstream.StreamConfig `json:"config"`
	Cluster *struct{}              `json:"cluster"` // nil: the server is alone
}

func (w *wire) streamConfig(ctx context.Context, name string) (jetstream.StreamConfig, error) {
	var out streamInfo
	err := w.api(ctx, "STREAM.INFO", name, struct{}{}, &out, false)
	return out.Config, err
}

// makeStream makes a stream. Somebody else may do so at the same time: to make it twice in the same way is no error.
//
// A single server that is killed while it makes a stream may keep the description without its checksum. It serves the
// stream when somebody makes it again, but never adds the checksum, and skips the stream at its next start. An update
// that changes nothing makes it write both. Where that fails, the stream can be used all the same.
func (w *wire) makeStream(ctx context.Context, want jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	var out streamInfo
	err := w.api(ctx, "STREAM.CREATE", want.Name, want, &out, true)
	if isCode(err, codeNameExists) {
		return w.streamConfig(ctx, want.Name) // with other replicas, for instance
	}
	if err == nil && out.Cluster == nil {
		if err := w.api(ctx, "STREAM.UPDATE", want.Name, want, nil, true); err != nil {
			w.log.Warn("write the description of a new stream again", "stream", want.Name, "err", err)
		}
	}
	return out.Config, err
}

// differs says in what a stream is not what the store relies on, "" if in nothing.
func differs(have, want jetstream.StreamConfig) string {
	switch {
	case strings.Join(have.Subjects, " ") != strings.Join(want.Subjects, " "):
		return fmt.Sprintf("its subjects are %q instead of %q", have.Subjects, want.Subjects)
	case have.Storage != want.Storage:
		return "it is kept in memory"
	case have.Retention != want.Retention || have.Discard != want.Discard || have.MaxAge != 0 || have.MaxMsgs > 0:
		return "it forgets messages by itself (its retention, discard policy or limits)"
	case have.MaxMsgsPerSubject != want.MaxMsgsPerSubject:
		return fmt.Sprintf("it keeps %d messages of a subject instead of %d", have.MaxMsgsPerSubject,
			want.MaxMsgsPerSubject)
	case have.AllowMsgTTL != want.AllowMsgTTL || (have.SubjectDeleteMarkerTTL > 0) != (want.SubjectDeleteMarkerTTL > 0):
		return "its messages have no time to live of their own, or leave no markers"
	case want.AllowDirect && !have.AllowDirect:
		return "its replicas do not answer"
	case have.Mirror != nil || len(have.Sources) > 0 || have.Sealed || have.NoAck:
		return "it is a mirror, has sources, is sealed, or gives no acknowledgements"
	}
	return ""
}

// ensureFormat marks a new bucket, or checks the mark of one that is there.
func (w *wire) ensureFormat(ctx context.Context, mustExist bool) error {
	for {
		m, err := w.newest(ctx, w.names.format())
		switch {
		case err != nil:
			return err
		case !m.marker():
			return checkFormat(string(m.data))
		case mustExist:
			return fmt.Errorf("bucket %s has no mark of a store: %w", w.names.bucket, store.ErrNotFound)
		}
		_, err = w.swap(ctx, w.names.format(), m.seq, nil, []byte(formatName+strconv.Itoa(formatVersion)))
		if !errors.Is(err, errMoved) {
			return err
		}
	}
}

func checkFormat(text string) error {
	number, ours := strings.CutPrefix(text, formatName)
	version, err := strconv.ParseInt(number, 10, 64)
	if !ours || err != nil || version < 1 {
		return fmt.Errorf("%w: the bucket's mark is %.40q, which is not that of a store", ErrDamaged, text)
	}
	return remote.CheckFormat(version, formatVersion, "give another bucket")
}

// names are those of the streams and subjects of one store. The documents' stream is a key-value bucket, so that `nats
// kv` shows it.
type names struct{ bucket string }

func (n names) docs() string { return "KV_" + n.bucket }
func (n names) log() string  { return "ROTA_" + n.bucket + "_log" }

func (n names) logSubject() string                { return "rota." + n.bucket + ".log" }
func (n names) journal(name string) string        { return "ROTA_" + n.bucket + "_" + name }
func (n names) journalSubject(name string) string { return "rota." + n.bucket + "." + name }
func (n names) docsSubjects() string              { return "$KV." + n.bucket + ".>" }
func (n names) row(key string) string             { return n.rowPrefix() + encodeKey(key) }
func (n names) rowPrefix() string                 { return "$KV." + n.bucket + "." }
func (n names) format() string                    { return n.row("format") }

// below takes what is below the last segment of a prefix that has an end, and so all rows with that prefix.
func (n names) below(prefix string) string {
	return n.row(prefix[:strings.LastIndexByte(prefix, '/')+1]) + ">"
}

// check is the subject that a read writes to, to have the cluster confirm it.
func (n names) check() string { return n.row("check") }

// encodeKey makes the end of a subject of a key, or of a prefix: a segment becomes a token. What tokens or `nats kv` do
// not take is written as "=" and two digits. No two keys get one subject, and keys below a prefix get subjects below
// the prefix's.
func encodeKey(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; c {
		case '/':
			b.WriteByte('.')
		case '.', '#', '@', ':', '=':
			fmt.Fprintf(&b, "=%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// decodeKey is the inverse of encodeKey; false for what that does not make.
func decodeKey(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '.':
			b.WriteByte('/')
		case '=':
			if i+2 >= len(text) {
				return "", false
			}
			code, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	key := b.String()
	return key, encodeKey(key) == text
}
