package nats

import (
	"time"

	nc "github.com/nats-io/nats.go"
)

// leased is a message that was delivered to this handle. The server gives it to others ackWait after the last sign of life; so a handle sends one
// now and then while the lease lasts, and gives it back when it ends.
type leased struct {
	until, sign time.Time
}

// The possible acknowledgements of a message.
var (
	answerAck  = []byte("+ACK")
	answerNak  = []byte("-NAK")
	answerSign = []byte("+WPI")
)

// leaseTick is between two looks at the leases.
const leaseTick = 100 * time.Millisecond

// lease keeps messages from now on for so long.
func (s *queues) lease(receipts []string, d time.Duration) {
	now := time.Now()
	s.queue.mu.Lock()
	if s.queue.leases == nil {
		s.queue.leases = make(map[string]leased)
	}
	for _, r := range receipts {
		s.queue.leases[r] = leased{now.Add(d), now}
	}
	begin := !s.queue.going && len(receipts) > 0
	s.queue.going = s.queue.going || begin
	s.queue.mu.Unlock()
	if begin {
		s.begin(s.keepLeases)
	}
}

// release forgets the lease of a message; false if this handle has none.
func (s *queues) release(receipt string) bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	_, ok := s.queue.leases[receipt]
	delete(s.queue.leases, receipt)
	return ok
}

func (s *queues) keepLeases() {
	ticker := time.NewTicker(leaseTick)
	defer ticker.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-ticker.C:
		}
		for receipt, answer := range s.dueAnswers(time.Now()) {
			_ = s.conn.PublishMsg(&nc.Msg{Subject: receipt, Data: answer}) // what is lost is delivered again
		}
	}
}

// dueAnswers are what the server is to be told now.
func (s *queues) dueAnswers(now time.Time) map[string][]byte {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	due := make(map[string][]byte)
	for receipt, l := range s.queue.leases {
		switch {
		case now.After(l.until):
			due[receipt] = answerNak
			delete(s.queue.leases, receipt)
		case now.Sub(l.sign) > ackWait/3:
			due[receipt] = answerSign
			s.queue.leases[receipt] = leased{l.until, now}
		}
	}
	return due
}
