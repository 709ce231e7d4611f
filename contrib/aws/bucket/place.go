package bucket

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// place is some objects: those of a bucket whose names begin with a prefix. It is written s3://bucket/prefix.
type place struct{ bucket, prefix string }

func parsePlace(s string) (p place, err error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	bucket, prefix, slash := strings.Cut(rest, "/")
	if !ok || !slash || !validBucket(bucket) {
		return p, fmt.Errorf("%q is no place in a bucket: want s3://bucket/ or s3://bucket/prefix", s)
	}
	return place{bucket, prefix}, nil
}

// validBucket allows what is common to AWS and gateways, and has no byte that would be another part of a URL.
func validBucket(name string) bool {
	if len(name) < 3 || len(name) > 255 {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

func (p place) String() string { return "s3://" + p.bucket + "/" + p.prefix }

// holds tells whether all of another place is in this one.
func (p place) holds(q place) bool {
	return p.bucket == q.bucket && strings.HasPrefix(q.prefix, p.prefix)
}

// longestKey bounds keys of items, of 1,024 bytes that they may have.
const longestKey = 900

// itemKey names the item of an object. It begins with the bucket, never with "s3:", so it is never that of a place; names that no key may be
// are escaped, long ones cut and told apart by their digest.
func itemKey(bucket, name string) string {
	key := bucket + "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
	if len(key) <= longestKey {
		return key
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(key[:longestKey-2*len(sum)-3], "") + "..." + hex.EncodeToString(sum[:])
}
