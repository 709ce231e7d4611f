// Package rotatest runs a whole cluster inside a test, in virtual time, and takes its members down.
//
// # Purpose
//
// A test of task types or functions wants an hour of checks, a crash in the middle of a job, or a member that is
// suspended, and wants them in milliseconds and always the same. [New] makes a cluster in a bubble of testing/synctest,
// where time passes only while everybody waits:
//
//	synctest.Test(t, func(t *testing.T) {
//		var rounds atomic.Int64
//		check := rota.NewCheck("check", func(context.Context, *rota.Grant, struct{}) error {
//			rounds.Add(1)
//			return nil
//		})
//		c := rotatest.New(t)
//		a := c.Join(rota.Config{Member: "a", Types: []rota.Type{check}})
//		b := c.Join(rota.Config{Member: "b", Types: []rota.Type{check}})
//		if err := a.Submit(t.Context(), "minutely", rota.Task{Type: "check", Every: time.Minute}); err != nil {
//			t.Fatal(err)
//		}
//		time.Sleep(10 * time.Minute)
//		a.Crash()
//		b.Suspend()
//		time.Sleep(time.Minute)
//		b.Resume()
//	})
//
// # Guarantees
//
//   - Everything that a member does by the clock (leases, periods, back-off, hand-overs, locks) happens in virtual
//     time, at full speed, as it would in hours.
//   - A member that has crashed does nothing to the store any more, and leaves no word. The others find its heartbeat
//     gone.
//   - A suspended member neither reads nor writes. The others count it out after its TTL; when it is resumed it finds
//     that out.
//   - All members that a test leaves are gone when the test ends.
//
// # What is not guaranteed
//
// Goroutines can be neither killed nor suspended. The tasks of a member that crashes end with their context; those of a
// suspended one run until the member, by its own clock, cannot be sure any more that they are its own. A store on a
// server, and whatever else waits for the outside world, does not work in a bubble.
//
// # Failures
//
// What goes wrong in a member that nobody has taken down fails the test.
package rotatest
