package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

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
