package localsock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"syscall"
	"time"
)

// listener closes its directory, too.
type listener struct {
	net.Listener
	d *directory
}

// Listen listens at the socket of a member of a directory, which must be there. It removes the sockets of dead members.
func Listen(dir, member string) (net.Listener, error) {
	l, err := listen(dir, socketOf(member))
	if err != nil {
		return nil, fmt.Errorf("listen for commands on this machine: %w", err)
	}
	return l, nil
}

func listen(dir, own string) (net.Listener, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	switch err := root.Mkdir(socketsDir, 0o700); {
	case err == nil:
		err = root.Chmod(socketsDir, 0o700) // a umask may have taken from it what the owner needs
		if err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	d, err := open(dir)
	if err != nil {
		return nil, err
	}
	d.sweep(root, own)
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", d.path(own))
	if err != nil {
		d.close()
		return nil, err
	}
	if err := root.Chmod(path.Join(socketsDir, own), 0o600); err != nil {
		return nil, errors.Join(err, (&listener{l, d}).Close())
	}
	return &listener{l, d}, nil
}

// Close removes the socket.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.d.close()
	return err
}

// socketOf is short, whatever the name of the member is.
func socketOf(member string) string {
	sum := sha256.Sum256([]byte(member))
	return hex.EncodeToString(sum[:8]) + socketSuffix
}

// startsWithin is how long a new socket may refuse: its member is about to listen.
const startsWithin = time.Minute

// sweep removes the sockets that refuse: nobody listens there any more. That of an earlier process of this member may
// be new.
func (d *directory) sweep(root *os.Root, own string) {
	for _, name := range d.sockets() {
		info, err := root.Lstat(path.Join(socketsDir, name))
		if err != nil || name != own && time.Since(info.ModTime()) < startsWithin {
			continue
		}
		if c, err := net.DialTimeout("unix", d.path(name), time.Second); err == nil {
			c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = root.Remove(path.Join(socketsDir, name)) // the next member tries again
		}
	}
}
