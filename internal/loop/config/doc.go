// Package config is congctl's one configuration file: its fields and their
// defaults, a strict reader that names every fault at once, and the checks.
//
// It reads no environment, watches no file and applies nothing: the caller
// reloads, and keeps the old configuration when the new one has faults.
//
// Its trap: `window` is the unit of time of the whole policy. A file that only sets it to
// 2m shrinks every duration tagged "scale" to two fifths; a duration that the file sets
// stays as written.
package config
