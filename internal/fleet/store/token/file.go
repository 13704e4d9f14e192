package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// File is the tokens on disk. Several goroutines may ask it, several processes may change it.
type File struct {
	Path string
	Read func(path string) ([]byte, error) // and judges who could have written it
	// Fault takes a fault of the file for which nobody is let in, each once.
	Fault func(error)

	mu     sync.Mutex // guards all below
	seen   fs.FileInfo
	tokens []Token
	fault  string
}

// ErrNone means that there is no such token.
var ErrNone = errors.New("no such token")

// Marks of a secret, so that one that got lost is found.
const mark = "congctl_"

// isSecret reports whether a name is a token itself: an error about it would quote it.
func isSecret(name string) bool {
	return strings.HasPrefix(name, mark) && len(name) >= len(mark)+43
}

var errSecret = errors.New("name: that is a token itself; write its name, as `congctl token list` has it")

// Add makes a token and returns its secret, 32 random bytes.
func (f *File) Add(t Token) (secret string, err error) {
	if err := t.Check(); err != nil {
		return "", fmt.Errorf("add token: %w", err)
	}
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	secret = mark + base64.RawURLEncoding.EncodeToString(raw[:])
	t.Sum = sha256.Sum256([]byte(secret))
	return secret, f.change(func(tokens []Token) ([]Token, error) {
		if slices.ContainsFunc(tokens, func(o Token) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("add token: name %q: there is one; remove it first, or use another name", t.Name)
		}
		return append(tokens, t), nil
	})
}

// Remove ends a token.
func (f *File) Remove(name string) error {
	if isSecret(name) {
		return errSecret
	}
	return f.change(func(tokens []Token) ([]Token, error) {
		rest := slices.DeleteFunc(slices.Clone(tokens), func(t Token) bool { return t.Name == name })
		if len(rest) == len(tokens) {
			return nil, fmt.Errorf("remove token %q: %w", name, ErrNone)
		}
		return rest, nil
	})
}

// List returns all tokens, those that have expired, too.
func (f *File) List() ([]Token, error) {
	text, err := f.Read(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	tokens, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read tokens %s: %w", f.Path, err)
	}
	return tokens, nil
}

// Holder returns whose a secret is at a time. It compares with every token, each in constant time.
func (f *File) Holder(secret string, now time.Time) (mtls.Identity, error) {
	sum, found := sha256.Sum256([]byte(secret)), Token{}
	for _, t := range f.current() {
		if subtle.ConstantTimeCompare(sum[:], t.Sum[:]) == 1 {
			found = t
		}
	}
	switch {
	case found.Name == "":
		return mtls.Identity{}, ErrNone
	case now.Unix() >= found.Expires:
		return mtls.Identity{}, fmt.Errorf("token %s expired at %s", found.Name, time.Unix(found.Expires, 0).UTC().Format(time.RFC3339))
	}
	return found.Identity(), nil
}

// current reads the file again if it has changed. Without it, or with a fault in it, there are no tokens.
func (f *File) current() []Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.Path)
	if err == nil && f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() && info.Mode() == f.seen.Mode() {
		return f.tokens
	}
	f.seen, f.tokens = nil, nil
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	tokens, lerr := f.List()
	if err = errors.Join(err, lerr); err != nil {
		if f.Fault != nil && err.Error() != f.fault {
			f.Fault(err)
		}
		f.fault = err.Error()
		return nil
	}
	f.seen, f.tokens, f.fault = info, tokens, ""
	return tokens
}

// change writes the file whole or not at all. The new file, which only one process can make, is the
// lock.
func (f *File) change(edit func([]Token) ([]Token, error)) (err error) {
	next := f.Path + ".new"
	w, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write tokens: %s is there: another congctl token runs, or was killed; then rm %s", next, next)
	} else if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next))
		}
	}()
	tokens, err := f.List()
	if err == nil {
		tokens, err = edit(tokens)
	}
	if err != nil {
		return errors.Join(err, w.Close())
	}
	_, err = w.Write(Text(tokens))
	if err = errors.Join(err, w.Sync(), w.Close()); err == nil {
		err = os.Rename(next, f.Path)
	}
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}
