package zookeeper

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store/driver"
)

// The nodes below the store's path; see State in the package's comment.
const (
	rowsNode  = "rows"
	livesNode = "lives"
)

func (o Options) at(names ...string) string { return o.Path + "/" + strings.Join(names, "/") }

// split returns the folder and the name of a row's node. Folders are one level deep. "+" means "/" in their names,
// and names the folder of keys without one; so a row is always a leaf, and "a" and "a/b" do not collide. No key has a
// "+" or a "~".
func split(key string) (folder, name string) {
	i := strings.LastIndexByte(key, '/')
	name = key[i+1:]
	if name == "." || name == ".." { // ZooKeeper takes them for directions
		name += "~"
	}
	return "+" + strings.ReplaceAll(key[:max(i, 0)], "/", "+"), name
}

// dirOf is what the keys in a folder begin with; false for a node that is none of ours.
func dirOf(folder string) (dir string, ok bool) {
	dir, ok = strings.CutPrefix(folder, "+")
	if dir != "" {
		dir = strings.ReplaceAll(dir, "+", "/") + "/"
	}
	return dir, ok
}

// join is the reverse of split.
func join(dir, name string) string { return dir + strings.TrimSuffix(name, "~") }

// covers reports whether a folder may have keys with a prefix.
func covers(dir, prefix string) bool {
	rest, within := strings.CutPrefix(prefix, dir)
	return strings.HasPrefix(dir, prefix) || within && !strings.Contains(rest, "/")
}

func (o Options) rowPath(key string) string {
	folder, name := split(key)
	return o.at(rowsNode, folder, name)
}

func (o Options) lifePath(life string) string { return o.at(livesNode, life) }

// lifeLength is the length of the random name of a row's life.
const lifeLength = 16

func newLife() string {
	var b [10]byte
	rand.Read(b[:])
	return strings.ToLower(base32.HexEncoding.EncodeToString(b[:]))
}

// version is a life and how many times the row was changed in it. What is written once has no life, and neither has
// what somebody else wrote.
func version(life string, n int32) driver.Version {
	return driver.Version(life + "." + strconv.FormatInt(int64(n), 10))
}

// parseVersion returns false for what is no version of this store, and so is not current.
func parseVersion(v driver.Version) (life string, n int32, ok bool) {
	life, number, found := strings.Cut(string(v), ".")
	i, err := strconv.ParseInt(number, 10, 32)
	fine := life == "" || len(life) == lifeLength && !strings.Contains(life, "/")
	if !found || err != nil || !fine || i == -1 { // -1 means any version to ZooKeeper
		return "", 0, false
	}
	return life, int32(i), true
}

// encodeRow is the data of a row's node: its life, a line feed, the name of the write, a line feed, the value.
func encodeRow(life, name string, value []byte) []byte {
	b := make([]byte, 0, len(life)+len(name)+2+len(value))
	b = append(append(b, life...), '\n')
	b = append(append(b, name...), '\n')
	return append(b, value...)
}

// decodeRow is the reverse of encodeRow. Data that somebody else wrote, by the servers' own shell, is all value:
// package engine refuses it.
func decodeRow(data []byte) (life, name string, value []byte) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	second, value, ok2 := bytes.Cut(rest, []byte("\n"))
	if !ok || !ok2 || len(first) != 0 && len(first) != lifeLength {
		return "", "", data
	}
	return string(first), string(second), value
}

// rowOf is the row at a key, whose node was read.
func rowOf(key string, n node) driver.Row {
	if n.stat == nil {
		return driver.Row{Key: key}
	}
	life, name, value := decodeRow(n.data)
	return driver.Row{Key: key, Name: name, Value: value, Version: version(life, n.stat.Version)}
}

// folderOf is the folder of a row's node; false for another node.
func (o Options) folderOf(path string) (folder string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], strings.HasPrefix(path, o.at(rowsNode, "+"))
}
