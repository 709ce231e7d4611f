package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
)

// List implements store.Docs. Any replica may answer it, so it may lag.
func (s *Store) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := s.list(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	return docs, nil
}

func (s *Store) list(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	found := map[string]store.Doc{}
	for after, more := uint64(0), true; more; {
		page, left, err := s.batch(ctx, s.names.below(prefix), after+1)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			after = max(after, m.seq)
			key, ok := decodeKey(strings.TrimPrefix(m.subject, s.names.docPrefix()))
			delete(found, key) // a document written anew while we read stands once more, behind
			if ok && store.CheckKey(key) == nil && !m.marker() {
				found[key] = store.Doc{Key: key, Value: m.data, Version: m.version()}
			}
		}
		more = left > 0 && len(page) > 0
	}
	docs := make([]store.Doc, 0, len(found))
	for _, d := range found {
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b store.Doc) int { return strings.Compare(a.Key, b.Key) })
	return docs, nil
}

// batchLimit is how many messages one page asks for; the server ends a page by itself at 64 MiB.
const batchLimit = 100_000

var errBatch = errors.New("the server's page of documents has a gap")

// batch reads messages of the documents' stream from one replica, in their order, and says how many are left behind them.
func (s *Store) batch(ctx context.Context, subject string, from uint64) (page []message, left uint64, err error) {
	request, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": subject, "batch": batchLimit})
	if err != nil {
		return nil, 0, err
	}
	if !s.line.whole() {
		return nil, 0, sendError(ctx, nc.ErrReconnectBufExceeded, false)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer stop()
	release := context.AfterFunc(s.line.current(), func() { cancel(errDisconnected) })
	defer release()
	inbox := s.conn.NewInbox()
	sub, err := s.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, 0, sendError(ctx, err, false)
	}
	defer func() { go func() { _ = sub.Unsubscribe() }() }() // it fails only where the connection is gone, and waits for the next one
	_ = sub.SetPendingLimits(-1, -1)
	if err := s.conn.PublishRequest("$JS.API.DIRECT.GET."+s.names.docs(), inbox, request); err != nil {
		return nil, 0, sendError(ctx, err, false)
	}
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
			left, err := strconv.ParseUint(raw.Header.Get("Nats-Num-Pending"), 10, 64)
			if last := raw.Header.Get("Nats-Last-Sequence"); err == nil && len(page) > 0 && last != strconv.FormatUint(page[len(page)-1].seq, 10) {
				err = errBatch
			}
			return page, left, err
		case "404":
			return page, 0, nil
		case "503":
			return nil, 0, sendError(ctx, nc.ErrNoResponders, false)
		default:
			return nil, 0, fmt.Errorf("%w: status %s %s", store.ErrUnavailable, status, raw.Header.Get("Description"))
		}
	}
}

// direct is a message as a replica hands it out.
func direct(raw *nc.Msg) (message, error) {
	seq, err := strconv.ParseUint(raw.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return message{}, fmt.Errorf("read the sequence of a message: %w", err)
	}
	return message{subject: raw.Header.Get("Nats-Subject"), seq: seq, header: raw.Header, data: raw.Data}, nil
}
