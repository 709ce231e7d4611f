package publish

import "time"

// Options tune a publisher. The zero value is a good default.
type Options struct {
	Queue        int           // samples that may wait; default 10,000
	Batch        int           // samples written at once at most; default 500
	FlushEvery   time.Duration // pause between writes of less than a batch; default 100 ms. The first sample after a pause is written at once
	FlushTimeout time.Duration // how long Run may continue writing after its ctx ended; default 2 s
	SendTimeout  time.Duration // how long a sink on a server may take for one attempt; default 10 s
	RetryMin     time.Duration // first pause before a failed write is retried; default 50 ms
	RetryMax     time.Duration // longest such pause; default 5 s
}

func (o Options) withDefaults() Options {
	if o.Queue <= 0 {
		o.Queue = 10_000
	}
	if o.Batch <= 0 {
		o.Batch = 500
	}
	setDefault(&o.FlushEvery, 100*time.Millisecond)
	setDefault(&o.FlushTimeout, 2*time.Second)
	setDefault(&o.SendTimeout, 10*time.Second)
	setDefault(&o.RetryMin, 50*time.Millisecond)
	setDefault(&o.RetryMax, 5*time.Second)
	o.RetryMax = max(o.RetryMax, o.RetryMin)
	return o
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d <= 0 {
		*d = v
	}
}
