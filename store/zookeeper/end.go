package zookeeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/rota-run/rota/store"
)

// identity is what the servers know a session by. Its holder can resume the session on its own connection, and end it.
type identity [24]byte // the id, eight bytes, and the password

// The handshake's answer: a version, the timeout, the id, the length of the password, the password.
const (
	shakeID     = 8
	shakePass   = 20
	passLength  = 16
	shakeLength = shakePass + passLength
)

// issued reads an identity from the body of a handshake's answer; false where it has none that this program
// understands.
func issued(body []byte) (identity, bool) {
	if len(body) < shakeLength || binary.BigEndian.Uint32(body[shakePass-4:]) != passLength {
		return identity{}, false
	}
	var i identity
	copy(i[:], body[shakeID:shakeID+8])
	copy(i[8:], body[shakePass:shakeLength])
	return i, true
}

// key is the text of the session's identity.
func (l *link) key() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return hex.EncodeToString(l.identity[:])
}

// EndLease implements driver.Leaser: it resumes the session on its own connection and ends it. Requests that the owner
// sent before are executed before that, or are refused.
func (c *conn) EndLease(ctx context.Context, key string) error {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != len(identity{}) || bytes.Equal(raw, make([]byte, len(raw))) {
		return errors.New("the key is not that of a session of ZooKeeper")
	}
	if err := c.begun(ctx); err != nil {
		return err
	}
	var errs []error
	for _, addr := range c.o.Servers {
		err := c.o.endAt(ctx, addr, identity(raw))
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, errors.Join(errs...))
}

// drops is how often a server may drop the connection before another one is asked: a quarter of a second with the
// pauses in between, which double from a millisecond.
const drops = 8

// endAt ends a session by one server. A server may drop the connection of a session that it has just ended, or is about
// to end, instead of answering. So what counts is that the session cannot be taken up any more.
func (o Options) endAt(ctx context.Context, addr string, i identity) error {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		exists, err := o.tryEnd(ctx, addr, i)
		if !exists && err == nil {
			return nil
		}
		if attempt == drops || !dropped(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond << attempt):
		}
	}
}

// dropped reports whether an error is that of a connection that the other side has ended.
func dropped(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// tryEnd takes up a session and ends it; exists says that the servers may still have it.
func (o Options) tryEnd(ctx context.Context, addr string, i identity) (exists bool, err error) {
	c, err := connect(ctx, addr, o.TLS)
	if err != nil {
		return true, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if exists, err := takeUp(c, i); err != nil || !exists {
		return exists, err
	}
	err = closeSession(c)
	return err != nil, err
}

// takeUp is the handshake for a session that exists; false if it does not any more.
func takeUp(c net.Conn, i identity) (exists bool, err error) {
	hello := make([]byte, 4+4+8+4, 4+4+8+4+8+4+passLength)
	binary.BigEndian.PutUint32(hello[16:], 10_000) // ms: the session ends before that matters
	hello = append(hello, i[:8]...)
	hello = binary.BigEndian.AppendUint32(hello, passLength)
	hello = append(hello, i[8:]...)
	binary.BigEndian.PutUint32(hello, uint32(len(hello)-4)) //nolint:gosec // 48
	if _, err := c.Write(hello); err != nil {
		return true, err
	}
	body, err := readPacket(c)
	if err != nil {
		return true, err
	}
	if len(body) < shakePass {
		return true, errNotZooKeeper
	}
	return binary.BigEndian.Uint64(body[shakeID:]) != 0, nil
}

// closeSession ends the session of a connection and waits until the servers have agreed on that.
func closeSession(c net.Conn) error {
	const id = 1
	request := make([]byte, requestHead)
	binary.BigEndian.PutUint32(request, requestHead-4)
	binary.BigEndian.PutUint32(request[4:], id)
	op := int32(opClose)
	binary.BigEndian.PutUint32(request[8:], uint32(op)) //nolint:gosec // the protocol's numbers are signed
	if _, err := c.Write(request); err != nil {
		return err
	}
	for {
		body, err := readPacket(c)
		if err != nil {
			return err
		}
		if len(body) < 16 {
			return errNotZooKeeper
		}
		if binary.BigEndian.Uint32(body) != id {
			continue // an answer to nothing that was asked here
		}
		if code := binary.BigEndian.Uint32(body[12:]); code != 0 {
			return fmt.Errorf("the server answered with code %d", int32(code)) //nolint:gosec // the same
		}
		return nil
	}
}

// readPacket reads a packet that is no longer than a handshake.
func readPacket(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxHandshake {
		return nil, errNotZooKeeper
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}
