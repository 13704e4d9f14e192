package instance

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestSecondAcquireIsRefused(t *testing.T) {
	dir := t.TempDir()
	l, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Acquire(dir)
	if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("second Acquire: %v, want ErrRunning with our pid", err)
	}
	if err := l.Held(); err != nil {
		t.Error(err)
	}
	path := dir + "/lock"
	if err := os.Rename(path, path+"2"); err != nil || l.Held() == nil {
		t.Errorf("away: still held, %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil || l.Held() == nil {
		t.Errorf("replaced: still held, %v", err)
	}
	if err := os.Rename(path+"2", path); err != nil || l.Held() != nil {
		t.Errorf("put back: %v, %v", err, l.Held())
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(dir)
	if err != nil {
		t.Fatalf("Acquire after Release: %v", err)
	}
	again.Release()
}
