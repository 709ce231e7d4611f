package work

import (
	"time"

	"github.com/rota-run/rota/cluster"
)

// The back-off where a definition names none.
const (
	DefaultRetryMin = time.Second
	DefaultRetryMax = 5 * time.Minute
	longestRetryMS  = int64(365 * 24 * time.Hour / time.Millisecond)
)

func (r Retry) min() time.Duration {
	if r.MinMS <= 0 {
		return min(DefaultRetryMin, r.max())
	}
	return millis(min(r.MinMS, longestRetryMS))
}

func (r Retry) max() time.Duration {
	if r.MaxMS <= 0 {
		return max(DefaultRetryMax, millis(min(max(r.MinMS, 0), longestRetryMS)))
	}
	return millis(min(r.MaxMS, longestRetryMS))
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// backOff is how long to wait after that many failures: it doubles from min to max, and chance takes away up to half.
func (r Retry) backOff(failures int64, chance uint64) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := r.min()
	for i := int64(1); i < failures && d < r.max(); i++ {
		d *= 2
	}
	d = min(d, r.max())
	half := d / 2
	return d - time.Duration(chance%(uint64(half)+1))
}

// jitter is a number that looks like chance but is the same for the same input.
func jitter(p cluster.PartitionID, attempt int64, seed uint64) uint64 {
	return mix(hashID(p) ^ mix(seed) ^ mix(uint64(attempt)))
}

// hashID is FNV-1a (64 bits) by Fowler, Noll and Vo, finished with mix: stable over processes and releases.
func hashID(p cluster.PartitionID) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(p) {
		h = (h ^ uint64(p[i])) * 1099511628211
	}
	return mix(h)
}

// mix is the finisher of MurmurHash3 by A. Appleby.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
