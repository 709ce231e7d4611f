// Package emulator has servers for tests: the real emulators of the Google Cloud CLI where they are installed, and
// fakes in the process.
//
// # Purpose
//
// [Each] runs a test with each of them, and says which. A real one is a jar in the folder "platform" of the CLI, which
// ROTA_TEST_GOOGLE_SDK names, or is found in the usual places, and needs java.
//
// # Guarantees
//
// The fakes always run. Where there is no real emulator the test is skipped in so many words.
//
// # What is not guaranteed
//
// The fake of Datastore knows what this module uses: Lookup, RunQuery with filters, Commit without transactions.
//
// # Failures
//
// A server that does not start fails the test.
package emulator
