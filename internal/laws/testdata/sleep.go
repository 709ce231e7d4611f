// want: a test sleeps

package api

import "time"

func f() { time.Sleep(1) }
