// Package config is congctl's one configuration file: its fields and their
// defaults, a strict reader that names every fault at once, and the checks.
//
// It reads no environment, watches no file and applies nothing: the caller
// reloads, and keeps the old configuration when the new one has faults.
//
// Its trap: `window` is the unit of time of the whole policy. A file that sets
// it to 2m and nothing else shrinks every duration tagged "scale" to two fifths;
// one that is written in the file is taken as written.
package config
