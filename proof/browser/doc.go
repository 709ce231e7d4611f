// Package browser opens the page of a member in a real Chromium.
//
// # Purpose
//
// What people see is tested where they see it. [Open] starts a headless Chromium with a profile of its own; a [Window]
// clicks, types and reads, and keeps what the console said.
//
// # What is needed
//
// Chromium, from the distribution's packages: .ci/chromium installs it. Where it is missing, Open skips the test, and
// fails it where CI=true.
package browser
