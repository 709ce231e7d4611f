package zookeeper

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"strconv"
	"strings"

	"github.com/rota-run/rota/store"
)

// The nodes below the store's path; see State in the package's comment.
const (
	docsNode  = "docs"
	livesNode = "lives"
	logNode   = "log"
	snapNode  = "snap"
)

func (s *Store) at(names ...string) string {
	return s.o.Path + "/" + strings.Join(names, "/")
}

// split returns the folder and the name of a document's node. Folders are one level deep. "+" means "/" in their names, and names the folder of keys without
// one; so a document is always a leaf, and "a" and "a/b" do not collide. No key has a "+" or a "~".
func split(key string) (folder, name string) {
	i := strings.LastIndexByte(key, '/')
	if i >= 0 {
		folder = key[:i]
	}
	name = key[i+1:]
	if name == "." || name == ".." { // ZooKeeper takes them for directions
		name += "~"
	}
	return folderName(folder), name
}

func folderName(folder string) string { return "+" + strings.ReplaceAll(folder, "/", "+") }

// folderKey is the reverse of folderName; false for a node that is none of ours.
func folderKey(name string) (string, bool) {
	folder, ok := strings.CutPrefix(name, "+")
	return strings.ReplaceAll(folder, "+", "/"), ok
}

// join is the reverse of split.
func join(folder, name string) string {
	key := strings.TrimSuffix(name, "~")
	if folder != "" {
		key = folder + "/" + key
	}
	return key
}

func (s *Store) docPath(key string) string {
	folder, name := split(key)
	return s.at(docsNode, folder, name)
}

func (s *Store) lifePath(life string) string { return s.at(livesNode, life) }

// lifeLength is the length of the random name of a document's life.
const lifeLength = 16

func newLife() string {
	var b [10]byte
	rand.Read(b[:])
	return strings.ToLower(base32.HexEncoding.EncodeToString(b[:]))
}

// version is a life and how many times the document was changed in it. What somebody else wrote has no life.
func version(life string, n int32) store.Version {
	return store.Version(life + "." + strconv.FormatInt(int64(n), 10))
}

// parseVersion returns false for what is no version of this store, and so is not current.
func parseVersion(v store.Version) (life string, n int32, ok bool) {
	life, number, found := strings.Cut(string(v), ".")
	i, err := strconv.ParseInt(number, 10, 32)
	if !found || err != nil || life != "" && len(life) != lifeLength || strings.Contains(life, "/") || i == -1 { // -1 means any version to ZooKeeper
		return "", 0, false
	}
	return life, int32(i), true
}

// encodeDoc is the data of a document's node: its life, a line feed, the value.
func encodeDoc(life string, value []byte) []byte {
	b := make([]byte, 0, lifeLength+1+len(value))
	b = append(b, life...)
	b = append(b, '\n')
	return append(b, value...)
}

// ErrDamaged marks nodes that this store cannot have written: another program wrote or deleted below its path.
var ErrDamaged = errors.New("damaged")

// decodeDoc is the reverse of encodeDoc. Data that somebody else wrote, by the servers' own shell, is all value: whoever reads the document refuses it, and
// the others below its folder are read as ever.
func decodeDoc(data []byte) (life string, value []byte) {
	if len(data) <= lifeLength || data[lifeLength] != '\n' {
		return "", data
	}
	return string(data[:lifeLength]), data[lifeLength+1:]
}
