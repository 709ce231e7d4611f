package elastic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/rota-run/rota/publish"
)

var errPoints = errors.New("it has no points")

// appendSample writes an action and a document for each point.
func appendSample(to []byte, s publish.Sample) ([]byte, error) {
	if len(s.Points) == 0 {
		return to, errPoints
	}
	name, err := json.Marshal(s.Name)
	if err != nil {
		return to, err
	}
	tags := []byte("{}")
	if len(s.Tags) > 0 {
		if tags, err = json.Marshal(s.Tags); err != nil { // sorted
			return to, err
		}
	}
	series := s.Series()
	for _, p := range s.Points {
		to = append(to, `{"create":{"_id":"`...)
		to = append(to, id(series, p.AtMS)...)
		to = append(to, `"}}`+"\n"+`{"@timestamp":`...)
		to = strconv.AppendInt(to, p.AtMS, 10)
		to = append(to, `,"name":`...)
		to = append(to, name...)
		to = append(to, `,"value":`...)
		to = appendValue(to, p.Value)
		to = append(to, `,"tags":`...)
		to = append(to, tags...)
		to = append(to, "}\n"...)
	}
	return to, nil
}

// appendValue writes a number; null where it is not finite.
func appendValue(to []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, v, 'g', -1, 64)
}

// id is the time, 48 bits, and 72 bits of a hash: no two points of one index have the same one by chance. It begins with the time because a server looks for the _id of a new
// document in what it has: it looks in few places for one that sorts behind the others.
func id(series string, atMS int64) string {
	var raw [15]byte
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(atMS))
	copy(raw[:6], at[2:])
	sum := sha256.Sum256([]byte(series))
	copy(raw[6:], sum[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}
