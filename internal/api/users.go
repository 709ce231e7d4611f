package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// Role is what a user may do.
type Role string

// The roles. Who operates reads too.
const (
	RoleRead    Role = "read"
	RoleOperate Role = "operate"
)

// User is a person or program with a token. Only the hash of the token is kept.
type User struct {
	Name string
	Role Role
	Hash [sha256.Size]byte // of the token, SHA-256
}

// Users are all users of an API. A name may occur several times, so that a token can be replaced.
type Users []User

const maxUsers = 1 << 20

// UserLine is the form of a line for [ParseUsers].
const UserLine = "NAME ROLE sha256:HEX"

// ParseUsers reads one user from each line. Empty lines, and those that begin with a #, are left out. Its errors
// do not repeat the text, which may contain a token.
func ParseUsers(text string) (Users, error) {
	var all Users
	lines := map[[sha256.Size]byte]int{}
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := parseUser(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if before := lines[u.Hash]; before != 0 {
			return nil, fmt.Errorf("line %d: the token is that of line %d", i+1, before)
		}
		lines[u.Hash] = i + 1
		all = append(all, u)
	}
	if all == nil {
		return nil, fmt.Errorf("it names no user")
	}
	return all, nil
}

func parseUser(fields []string) (u User, _ error) {
	if len(fields) != 3 {
		return u, fmt.Errorf("it has %d words, want %s", len(fields), UserLine)
	}
	u.Name, u.Role = fields[0], Role(fields[1])
	if cluster.CheckName(u.Name) != nil {
		return u, fmt.Errorf("the first word is no name")
	}
	if u.Role != RoleRead && u.Role != RoleOperate {
		return u, fmt.Errorf("the second word is neither read nor operate")
	}
	digits, ok := strings.CutPrefix(fields[2], "sha256:")
	hash, err := hex.DecodeString(digits)
	if !ok || err != nil || len(hash) != sha256.Size {
		return u, fmt.Errorf("the third word is not sha256: and 64 hexadecimal digits")
	}
	if u.Hash = [sha256.Size]byte(hash); u.Hash == sha256.Sum256(nil) {
		return u, fmt.Errorf("the hash is that of an empty token")
	}
	return u, nil
}

// ReadUsers reads a file of users. It refuses one that its group or others may write, or that others may read.
func ReadUsers(path string) (Users, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s has mode %04o: others may read it, or change who may do what", path, mode)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxUsers+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxUsers {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxUsers)
	}
	all, err := ParseUsers(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// find returns the user of a token. It takes the same time for every token.
func (u Users) find(token string) (User, bool) {
	hash, at := sha256.Sum256([]byte(token)), -1
	for i := range u {
		if subtle.ConstantTimeCompare(hash[:], u[i].Hash[:]) == 1 {
			at = i
		}
	}
	if at < 0 {
		return User{}, false
	}
	return u[at], true
}

type userKey struct{}

// guarded reports whether requests need a token.
func (c *Config) guarded() bool { return c.Token != "" || len(c.Users) > 0 }

// userOf is who asks. The token that has no name operates, and so has a request that needs none: see trusted.
func userOf(r *http.Request) User {
	u, _ := r.Context().Value(userKey{}).(User)
	u.Role = cmp.Or(u.Role, RoleOperate)
	return u
}

// allowed tells who asks by the token; ok is false where the request needs one and has none that is right.
func (h *handler) allowed(r *http.Request) (_ *http.Request, ok bool) {
	if !h.c.guarded() {
		return r, true
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return r, false
	}
	if h.c.Token != "" && subtle.ConstantTimeCompare([]byte(got), []byte(h.c.Token)) == 1 {
		return r, true
	}
	u, ok := h.c.Users.find(got)
	if ok {
		r = r.WithContext(context.WithValue(r.Context(), userKey{}, u))
	}
	return r, ok
}
