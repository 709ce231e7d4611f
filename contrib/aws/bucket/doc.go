// Package bucket works on the objects of buckets of S3, or of a gateway that speaks it, with the members of a cluster:
// each object once.
//
// # Purpose
//
// [NewType] makes a task type of a function that takes an object, [Task] a task of it for some places:
// "s3://logs/2026/" is all objects of the bucket logs whose names begin with 2026/. One member lists a place, a window
// of objects at a time; all members work on them.
//
// # Guarantees
//
// Each object that is there when the listing comes to its name is taken, whichever member dies. Its content is
// streamed, whole and of one version: a connection that breaks is taken up where it broke, under the same ETag. An
// object that was changed after it was listed is taken as it is when its run opens it; one that was deleted is passed
// over, logged, and counted in the sample s3_objects_gone.
//
// The window and how far the listing has come are in the cluster: a few hundred names, however many objects there are;
// see decision 18.
//
// # New objects
//
// [Once] ends when all is done. [Names] waits for names that sort behind all that it has seen, and asks for nothing
// else: the cheapest, for names that begin with a date. [Marks] looks at the whole place again each time, and writes a
// small object for each one that is done: after a crash of all members and of the cluster's store it still knows.
// [Delete] takes away what is done. In the last three an object that is changed later is taken again, but for Names.
//
// # What is not guaranteed
//
// An object whose run was cut is taken again, under a larger token. In Once and Names a change after a run has opened
// an object is not noticed. With Marks, an object that is overwritten by a multipart upload which began before the mark
// was written is not noticed: S3 dates such an object by the beginning of its upload. Kinds of buckets that do not list
// by name, such as directory buckets, are refused with an error.
//
// # Failures
//
// What the SDK tries again by itself is tried again; then the item fails, is tried again with back-off, and parked
// after the task's MaxAttempts. Errors say what was done at which endpoint, and what to try: a wrong bucket, region or
// endpoint, no credentials, no permission. No credential is in the cluster, in an error or in a log.
//
// # Cost
//
// Listing is one request for up to a thousand objects, and taking one is one request, two with Marks or Delete more. A
// place with nothing new costs one request (with Marks and Delete: a look at all its names) each [Config].Poll, and
// nothing in the cluster. S3 dates by the second: a mark of the same second as its object is read by the lister, once
// for each version, and again after it has read 32,768 others.
//
// # Where it comes from
//
// The S3 loop of the source document elasticsearch-cluster-state; decision 23.
package bucket
