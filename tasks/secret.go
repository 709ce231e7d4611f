package tasks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const maxSecret = 64 << 10

// secretText is a config value that may be, or end in, a reference to a secret: "env:NAME", "file:/path" or "Bearer env:NAME". It is resolved when
// a task runs, so that a rotated secret is used, and never appears in an error or a log.
type secretText string

// split returns the fixed part in front and the reference, "" if there is none.
func (s secretText) split() (front, ref string) {
	at := strings.LastIndexByte(string(s), ' ') + 1
	last := string(s)[at:]
	if strings.HasPrefix(last, "env:") || strings.HasPrefix(last, "file:") {
		return string(s)[:at], last
	}
	return string(s), ""
}

// check finds references that can never be resolved.
func (s secretText) check() error {
	_, ref := s.split()
	kind, name, _ := strings.Cut(ref, ":")
	switch {
	case ref == "":
		return nil
	case name == "":
		return fmt.Errorf("the reference %q names nothing", ref)
	case kind == "file" && !strings.HasPrefix(name, "/"):
		return fmt.Errorf("the reference %q is not an absolute path", ref)
	}
	return nil
}

// resolve returns the value with the secret in it.
func (s secretText) resolve() (string, error) {
	front, ref := s.split()
	if ref == "" {
		return front, nil
	}
	value, err := readSecret(ref)
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", ref, err)
	}
	return front + value, nil
}

func readSecret(ref string) (string, error) {
	kind, name, _ := strings.Cut(ref, ":")
	if kind == "env" {
		v, ok := os.LookupEnv(name)
		if !ok {
			return "", errors.New("the variable is not set")
		}
		return v, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file") // a named pipe would block
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecret {
		return "", fmt.Errorf("longer than %d bytes", maxSecret)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
