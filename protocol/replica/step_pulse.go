package replica

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/store"
)

// renewal is the state of our own pulse.
type renewal struct {
	call
	key     string
	created bool
	acked   protocol.Instant // an instant before the last acknowledged renewal was sent
}

// sighting is what is known of another member's pulse.
type sighting struct {
	key     string
	version store.Version
	ttl     time.Duration    // for which others wait, by what the pulse says; 0: as long as we would want it
	since   protocol.Instant // when we first saw this version
	looked  protocol.Instant // an instant before a read that proves that it is still this version
	known   bool             // read at least once, by a read that decides
	listed  bool             // seen in a list: a hint
	seen    protocol.Instant // in a list for the last time; kept where lists are rare
	missing bool             // a list left it out: a hint too
}

// gone: a decisive read found no pulse.
func (g sighting) gone() bool { return g.known && g.version == "" }

// silence is how long the pulse must stay unchanged, by our clock, before its owner has provably stopped trusting itself: by the owner's TTL, which may
// be another one than ours.
func (g sighting) silence(p Params) time.Duration {
	return period(cmp.Or(g.ttl, p.TTL), 1000+p.Rho)
}

// dead: its owner is dead, or has provably stopped trusting itself.
func (g sighting) dead(p Params) bool {
	return g.gone() || g.known && g.looked.Sub(g.since) >= g.silence(p)
}

// look takes in a read of the pulse that was sent at an instant and answered now.
func (g sighting) look(version store.Version, ttl time.Duration, sent, now protocol.Instant) sighting {
	if !g.known && !g.listed || g.version != version {
		g.version, g.ttl, g.since = version, ttl, now
	}
	g.known, g.looked = true, max(sent, g.since)
	g.missing = g.missing && version == "" // a list that left out what is there was made before it, or lags
	return g
}

// hint takes in a listed version, which may be an old one and proves nothing: it can only put the beginning of a silence later.
func (g sighting) hint(version store.Version, ttl time.Duration, now protocol.Instant) sighting {
	if !g.known && !g.listed || g.version != version {
		g.version, g.ttl, g.since, g.looked, g.known = version, ttl, now, now, false
	}
	g.listed, g.missing = true, false
	return g
}

func (s *step) renew() {
	if s.phase < phasePulse || s.phase > phaseLeaving || s.phase == phaseRemoved {
		return
	}
	if s.renewal.key == "" {
		s.renewal.key = s.pulseKey()
	}
	if s.renewal.busy || s.now < s.renewal.next {
		return
	}
	s.renewal.busy = true
	s.emit(Renew{Key: s.renewal.key, Create: !s.renewal.created, Life: s.life})
}

// checkTrust notices that the last acknowledged renewal is too old. A renewal that is acknowledged after that proves nothing: others may
// have counted us out before it was stored, and their report may still be on its way to the log. That holds for one who joins or
// waits to be confirmed too: others may have taken it in and counted it out again while it was suspended. A pulse that was silent for long
// enough is never renewed.
func (s *step) checkTrust() {
	if s.renewal.created && s.now >= s.renewal.acked.Add(s.p.trust()) {
		s.lapse()
	}
}

// lapse ends all trust. The member begins another life, with another pulse, under which the cluster may confirm it.
func (s *step) lapse() {
	switch s.phase {
	case phaseMember:
		s.phase = phaseConfirm
	case phaseJoin:
		s.phase = phasePulse // nobody may hear of the new pulse before it is there
	case phaseConfirm, phasePulse:
	default:
		return
	}
	s.life++
	s.renewal = renewal{}
	if s.assigned.TrustUntil != 0 {
		s.assigned.TrustUntil = 0
		s.emit(Assign{Assignment: s.assigned})
	}
}

func (s *step) renewed(ev Renewed) {
	if ev.Key != s.renewal.key {
		return // of a former life
	}
	s.renewal.busy = false
	s.answered(ev.Err)
	switch ev.Outcome {
	case Done:
		s.renewal.created, s.renewal.acked = true, max(s.renewal.acked, ev.Sent)
		s.renewal.next = ev.Sent.Add(s.p.TTL / 3)
	case Refused:
		s.renewal.next = s.now.Add(s.p.Poll) // a member that is leaving begins no other life
		s.lapse()
	default: // not acknowledged: for us it was not renewed
		s.renewal.next = s.now.Add(s.p.Poll)
	}
}

// watch looks at the pulse that this member is responsible for, and at suspects.
func (s *step) watch() {
	want := s.watchKey()
	if want != s.watching {
		s.watching = want
		s.check.next = s.now
		s.emit(WatchPulse{Key: want})
	}
	if s.check.busy || s.now < s.check.rest {
		return
	}
	if key := s.nextSuspect(); key != "" {
		s.look(key)
		return
	}
	if want != "" && s.now >= s.check.next {
		s.look(want)
	}
}

func (s *step) look(key string) {
	s.check.busy, s.checkSent = true, s.now
	s.check.next = max(s.check.next, s.now)
	if key == s.watching {
		s.check.next = s.nextLook()
	}
	s.emit(CheckPulse{Key: key})
}

// nextLook is when the watched pulse is looked at again, unless a hint comes before: at the latest when it may have been silent for long enough.
func (s *step) nextLook() protocol.Instant {
	g, _ := s.sighting(s.watching)
	end := g.since.Add(g.silence(s.p))
	if !g.known || g.version == "" || end <= s.now {
		return s.now.Add(s.p.Poll)
	}
	return min(end, s.now.Add(max(s.p.Poll, s.p.PulseEvery)))
}

func (s *step) watchKey() string {
	switch s.phase {
	case phaseClaim:
		return s.claim.key
	case phaseMember, phaseConfirm:
		return s.reactions().Watch.Pulse
	}
	return ""
}

func (s *step) pulseSeen(ev PulseSeen) {
	s.check.busy = false
	if s.answered(ev.Err); ev.Err != "" {
		s.check.rest = s.now.Add(s.p.Poll)
		s.check.next = min(s.check.next, s.check.rest)
		return
	}
	if ev.Key == s.claim.key && s.phase == phaseClaim {
		s.claimSeen(ev)
	}
	g, _ := s.sighting(ev.Key)
	s.note(g.look(ev.Version, ev.TTL, s.checkSent, s.now))
}

func (s *step) claimSeen(ev PulseSeen) {
	was := s.claim
	s.claim = was.look(ev.Version, ev.TTL, s.checkSent, s.now)
	if was.known && was.version != "" && ev.Version != "" && ev.Version != was.version {
		s.halt(&protocol.NameTakenError{Member: s.self()})
	}
}

func (s *step) sighting(key string) (sighting, int) {
	i, ok := slices.BinarySearchFunc(s.pulses, key, func(g sighting, k string) int { return strings.Compare(g.key, k) })
	if !ok {
		return sighting{key: key}, i
	}
	return s.pulses[i], i
}

// note keeps a sighting. The slice is replaced, not changed: older states share it.
func (s *step) note(g sighting) {
	_, i := s.sighting(g.key)
	next := slices.Clone(s.pulses)
	if i < len(next) && next[i].key == g.key {
		next[i] = g
	} else {
		next = slices.Insert(next, i, g)
	}
	s.pulses = next
}

// sweepPulses compares all members with all pulses from time to time: that finds those whose watcher died with them.
func (s *step) sweepPulses() {
	if s.phase != phaseMember || s.sweep.busy || s.now < s.sweep.next {
		return
	}
	s.sweep.busy = true
	s.sweep.next = s.now.Add(s.sweepEvery())
	s.emit(ListPulses{})
}

func (s *step) sweepEvery() time.Duration {
	every := s.p.TTL / 2
	if !s.p.SweepInTurn {
		return every
	}
	var all time.Duration
	for range s.value.Members() {
		all += every
	}
	return max(all, every)
}

func (s *step) pulsesListed(ev PulsesListed) {
	s.sweep.busy = false
	if s.answered(ev.Err); ev.Err != "" {
		return
	}
	listed := make(map[string]store.Version, len(ev.Pulses))
	next := make([]sighting, 0, len(ev.Pulses))
	for _, p := range ev.Pulses {
		listed[p.Key] = p.Version
		g, _ := s.sighting(p.Key)
		g = g.hint(p.Version, p.TTL, s.now)
		if s.p.SweepInTurn {
			g.seen = s.now
		}
		next = append(next, g)
	}
	for m := range s.value.Members() {
		if _, ok := listed[m.Pulse]; !ok && m.State != cluster.MemberHeld {
			g, _ := s.sighting(m.Pulse)
			g.key, g.listed, g.missing = m.Pulse, false, true
			next = append(next, g)
		}
	}
	slices.SortFunc(next, func(a, b sighting) int { return strings.Compare(a.key, b.key) })
	s.pulses = next
	s.dropStrays()
}

// nextSuspect is a pulse, other than the watched one, that seems missing or silent and that a decisive read has not judged yet.
func (s *step) nextSuspect() string {
	if s.phase != phaseMember {
		return ""
	}
	for _, g := range s.pulses {
		missing := g.missing && !g.gone()
		until := s.now
		if s.p.SweepInTurn {
			until = g.seen // what was not looked at is not known to be silent
		}
		silent := g.listed && until.Sub(g.since) >= g.silence(s.p) && !g.dead(s.p)
		recent := g.known && s.now.Sub(g.looked) < s.p.Poll
		if !missing && !silent || recent || g.key == s.watching {
			continue
		}
		if _, ok := s.other(g.key); ok {
			return g.key
		}
	}
	return ""
}

// other is the member, another one than this, that a pulse belongs to.
func (s *step) other(pulse string) (cluster.Member, bool) {
	id, _, _ := strings.Cut(strings.TrimPrefix(pulse, protocol.HeartbeatPrefix), "/")
	m, ok := s.value.Member(cluster.MemberID(id))
	return m, ok && m.Pulse == pulse && m.State != cluster.MemberHeld && m.ID != s.self()
}

// dropStrays removes pulses that belong to nobody: left by processes that died before they joined, or after they were removed.
func (s *step) dropStrays() {
	if first, ok := s.value.FirstJoined(); !ok || first != s.self() {
		return
	}
	owned := make(map[string]bool, len(s.pulses))
	for m := range s.value.Members() {
		owned[m.Pulse] = true
	}
	for _, g := range s.pulses {
		if !owned[g.key] && g.key != s.renewal.key && g.version != "" && s.now.Sub(g.since) >= 4*g.silence(s.p) {
			s.emit(DropPulse{Key: g.key, Version: g.version})
		}
	}
}

// deaths are the commands that report members whose pulse is gone or silent. The predecessor in the ring reports at once; the others
// wait by their rank, so that one report is written and not n.
func (s *step) deaths() []cluster.Command {
	var out []cluster.Command
	for _, g := range s.pulses {
		if !g.dead(s.p) {
			continue
		}
		m, ok := s.other(g.key)
		if !ok || s.now.Sub(g.since) < s.patience(m.ID, g) {
			continue
		}
		if m.State == cluster.MemberPrepared {
			out = append(out, cluster.AbortJoin{Member: m.ID, Incarnation: m.Incarnation})
			continue
		}
		reason := "its pulse was silent"
		if g.gone() {
			reason = "its pulse is gone"
		}
		out = append(out, cluster.LeaveCluster{Member: m.ID, Incarnation: m.Incarnation, Reason: reason})
	}
	return out
}

func (s *step) patience(m cluster.MemberID, g sighting) time.Duration {
	d := time.Duration(min(s.value.Rank(s.self(), m), 8)) * 2 * s.p.Poll
	if !g.gone() {
		d += g.silence(s.p)
	}
	return d
}
