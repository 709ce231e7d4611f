// Package view is what people see of a cluster, as plain data: the HTTP API, the page, the command line and the metrics
// show it alike.
//
// # Purpose
//
// A [Sight] is a cluster value with what a [Lookout] saw beside it: heartbeats, and what members say to fail. Its
// methods show it: [Sight.Status], [Sight.Members], [Sight.Tasks], [Sight.Jobs], [Sight.Why]. A [Viewer] adds what the
// journal and the sources of tasks say. [PlanWithout] says what would come of members that go, and [Past] what was.
//
// # Guarantees
//
// The methods of a Sight are pure. Lists are sorted by name. Field names and their meaning do not change within a major
// version; new fields may come. Nothing here holds a secret: definitions are not shown.
//
// # What is not guaranteed
//
// Times are the wall clock of their writer, for people. Nothing decides by them. What a member says of its failing
// tasks is some seconds old, and the numbers in it up to a minute.
//
// # Failures
//
// An error is that of the store, and nothing is shown then: half of the truth would look like all of it.
package view
