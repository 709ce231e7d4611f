package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// list reads a range. A row that is written while we read comes again, later.
func (w *wire) list(ctx context.Context, q driver.Query) (rows []driver.Row, more bool, err error) {
	found, filter := map[string]driver.Row{}, w.names.below(common(q.From, q.To))
	for after, left := uint64(0), uint64(1); left > 0; {
		var page []message
		page, left, err = w.batch(ctx, w.names.docs(), batchRequest{Seq: after + 1, Next: filter, Batch: batchLimit})
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			after = max(after, m.seq)
			key, ok := decodeKey(strings.TrimPrefix(m.subject, w.names.rowPrefix()))
			delete(found, key)
			if ok && key >= q.From && key < q.To && !m.marker() {
				found[key] = m.row(key)
			}
		}
		if len(page) == 0 {
			break
		}
	}
	rows = slices.SortedFunc(maps.Values(found), func(a, b driver.Row) int { return strings.Compare(a.Key, b.Key) })
	if len(rows) > q.Limit {
		return rows[:q.Limit], true, nil
	}
	return rows, false, nil
}

// anywhere reads rows that any replica may tell, in one request. What it lacks, or does not send since the answer is
// large, is as if it was not there.
func (w *wire) anywhere(ctx context.Context, keys []string) ([]driver.Row, error) {
	at, rows := make(map[string]int, len(keys)), make([]driver.Row, len(keys))
	r := batchRequest{Last: make([]string, len(keys))}
	for i, key := range keys {
		r.Last[i] = w.names.row(key)
		at[r.Last[i]], rows[i].Key = i, key
	}
	page, _, err := w.batch(ctx, w.names.docs(), r)
	for _, m := range page {
		if i, ok := at[m.subject]; ok {
			rows[i] = m.row(keys[i])
		}
	}
	return rows, err
}

// common is a prefix that ends with "/", or none, and that all keys of a range have.
func common(from, to string) string {
	for p := from; ; p = strings.TrimSuffix(p, "/") {
		p = p[:strings.LastIndexByte(p, '/')+1]
		if p == "" || to <= p[:len(p)-1]+"0" { // "0" follows "/"
			return p
		}
	}
}

// batchLimit is how many messages one page asks for; the server ends a page by itself at 64 MiB.
const batchLimit = 100_000

var errBatch = errors.New("the server's page of messages has a gap")

// batchRequest asks for messages of a subject, in their order.
type batchRequest struct {
	Seq   uint64   `json:"seq,omitempty"` // of the first one, or of an earlier one
	Next  string   `json:"next_by_subj,omitempty"`
	Batch int      `json:"batch,omitempty"`      // maximum number
	Last  []string `json:"multi_last,omitempty"` // instead: the newest of each of these subjects
}

// batch reads messages of a stream from one replica, which may lag, and says how many are left after them.
func (w *wire) batch(ctx context.Context, stream string, r batchRequest) (page []message, left uint64, err error) {
	if !w.line.whole() {
		return nil, 0, sendError(ctx, w.line.broken(), false)
	}
	ctx, done := w.asking(ctx)
	defer done()
	sub, err := within(ctx, func() (*nc.Subscription, error) { return w.askBatch(stream, r) }, hangUp)
	if err != nil {
		return nil, 0, sendError(ctx, err, false)
	}
	defer func() { go hangUp(sub) }() // which may wait for the client's lock as well
	for {
		raw, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, 0, sendError(ctx, err, false)
		}
		switch status := raw.Header.Get("Status"); status {
		case "":
			m, err := direct(raw)
			if err != nil {
				return nil, 0, err
			}
			page = append(page, m)
		case "204": // the end of the page
			left, err := endOf(page, raw)
			return page, left, err
		case "404":
			return page, 0, nil
		default:
			return nil, 0, fmt.Errorf("%w: status %s %s", store.ErrUnavailable, status, raw.Header.Get("Description"))
		}
	}
}

// hangUp ends a subscription. It fails only where the connection is gone, and the subscription with it.
func hangUp(sub *nc.Subscription) { _ = sub.Unsubscribe() }

// askBatch sends the request for a page, and returns where it will arrive.
func (w *wire) askBatch(stream string, r batchRequest) (*nc.Subscription, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	inbox := w.conn.NewInbox()
	sub, err := w.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	if err = sub.SetPendingLimits(-1, -1); err == nil {
		err = w.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, request)
	}
	if err != nil {
		hangUp(sub)
	}
	return sub, err
}

// endOf reads what the server says after a page.
func endOf(page []message, raw *nc.Msg) (left uint64, err error) {
	left, err = strconv.ParseUint(raw.Header.Get("Nats-Num-Pending"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the end of a page: %w", err)
	}
	if len(page) > 0 && raw.Header.Get("Nats-Last-Sequence") != strconv.FormatUint(page[len(page)-1].seq, 10) {
		return 0, fmt.Errorf("%w: %w", store.ErrUnavailable, errBatch)
	}
	return left, nil
}

// direct is a message as a replica hands it out.
func direct(raw *nc.Msg) (message, error) {
	seq, err := strconv.ParseUint(raw.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return message{}, fmt.Errorf("read the sequence of a message: %w", err)
	}
	return message{subject: raw.Header.Get("Nats-Subject"), seq: seq, header: raw.Header, data: raw.Data}, nil
}

// message is one stored message. The zero value is none.
type message struct {
	subject string
	seq     uint64
	header  nc.Header
	data    []byte
}

// marker reports whether the message says that there is nothing: the row was deleted, or has expired, or never was.
func (m message) marker() bool {
	return m.seq == 0 || m.header.Get(headerReason) != "" || m.header.Get(headerOperation) != ""
}

// expired reports whether the server put the message there because the one before reached its end.
func (m message) expired() bool { return m.header.Get(headerReason) == "MaxAge" }

// version is that of the write that made the row, also where a lease has repeated it since.
func (m message) version() driver.Version {
	if v := m.header.Get(headerVersion); v != "" {
		return driver.Version(v)
	}
	return versionOf(m.seq)
}

func versionOf(seq uint64) driver.Version { return driver.Version(strconv.FormatUint(seq, 10)) }

// sequence is that of the write of a version, 0 of none; false for what is no version of a row.
func sequence(v driver.Version) (uint64, bool) {
	if v == "" {
		return 0, true
	}
	seq, err := strconv.ParseUint(string(v), 10, 64)
	return seq, err == nil && seq > 0 && versionOf(seq) == v
}

type getRequest struct {
	Seq    uint64 `json:"seq,omitempty"`
	LastBy string `json:"last_by_subj,omitempty"`
}

// fetch reads one message at the stream's leader; errAbsent if there is none.
func (w *wire) fetch(ctx context.Context, stream string, r getRequest) (message, error) {
	var out struct {
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err := w.api(ctx, "STREAM.MSG.GET", stream, r, &out, false); err != nil {
		return message{}, readError(err)
	}
	m := message{subject: out.Message.Subject, seq: out.Message.Seq, data: out.Message.Data}
	if len(out.Message.Header) > 0 {
		h, err := nc.DecodeHeadersMsg(out.Message.Header)
		if err != nil {
			return message{}, fmt.Errorf("read the header of message %d of %s: %w", m.seq, stream, err)
		}
		m.header = h
	}
	return m, nil
}

// newest is the newest message of a subject of the rows' stream, as its leader has it; the zero message if there is
// none.
func (w *wire) newest(ctx context.Context, subject string) (message, error) {
	m, err := w.fetch(ctx, w.names.docs(), getRequest{LastBy: subject})
	if errors.Is(err, errAbsent) {
		return message{}, nil
	}
	return m, err
}

// current is newest, confirmed: a leader that was replaced without having noticed yet answers with what it has. So a
// small message is written that is refused unless what was read is still the newest; only the true leader can get it
// stored. With one replica there is no other leader, and what is written once is what it is.
func (w *wire) current(ctx context.Context, subject string) (message, error) {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	for {
		m, err := w.newest(ctx, subject)
		if err != nil || w.replicas == 1 || w.readOnly || m.header.Get(headerOnce) != "" {
			return m, err
		}
		switch err := w.confirm(ctx, subject, m.seq); {
		case err == nil:
			return m, nil
		case !errors.Is(err, errMoved):
			return message{}, inner.NotDone(err)
		}
	}
}

func (w *wire) confirm(ctx context.Context, subject string, seq uint64) error {
	h := nc.Header{headerExpectSubject: {subject}, headerTTL: {markerTTL}}
	h[headerExpect] = []string{strconv.FormatUint(seq, 10)}
	_, err := w.publish(ctx, w.names.docs(), &nc.Msg{Subject: w.names.check(), Header: h})
	return err
}
