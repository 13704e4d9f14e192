package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/token"
	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/linux/privilege"
	"github.com/congctl/congctl/internal/loop/config"
)

func newToken(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Let browsers and scripts ask without a certificate",
		Long: `token makes, lists and removes the secrets with which callers without a certificate ask this
host's controller, and act on the dashboard of up or controller. Run it as root or as the user that
those run as. A change holds from the next request on.`,
	}
	cmd.AddCommand(newTokenAdd(g), newTokenList(g), newTokenRemove(g))
	return cmd
}

// Limits of a token's life.
const (
	tokenDays    = 90
	maxTokenDays = 3650
)

// TokenAdded is the answer of token add, the only one with the secret.
type TokenAdded struct {
	TokenRow
	Token string `json:"token"`
}

// TokenRow is a token without its secret.
type TokenRow struct {
	Name         string    `json:"name"`
	Role         mtls.Role `json:"role"`
	PoP          string    `json:"pop"` // "": all
	ExpiresUnixS int64     `json:"expires_unix_s"`
	Expired      bool      `json:"expired"`
}

func rowOf(t token.Token) TokenRow {
	return TokenRow{t.Name, t.Role, t.PoP, t.Expires, time.Now().Unix() >= t.Expires}
}

func newTokenAdd(g *global) *cobra.Command {
	var role, pop string
	days := uint64(0)
	cmd := &cobra.Command{
		Use:     "add NAME",
		Short:   "Make a token and print it, this once",
		Example: "  sudo congctl token add board --role viewer\n  sudo congctl token add deploy --role operator --pop chi --days 30",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := g.config()
			if err != nil {
				return err
			}
			t := token.Token{Name: args[0], Role: mtls.Role(role), PoP: pop, Expires: time.Now().Add(time.Duration(days) * 24 * time.Hour).Unix()}
			switch {
			case pop != "" && (!mtls.Word(pop) || len(cfg.Fleet.PoPs) > 0 && !slices.Contains(cfg.Fleet.PoPs, pop)):
				return wrongUse(cmd, fmt.Errorf("--pop %q: use one of fleet.pops: %s", pop, strings.Join(cfg.Fleet.PoPs, ", ")))
			case days < 1 || days > maxTokenDays:
				return wrongUse(cmd, fmt.Errorf("--days %d: use 1 to %d", days, maxTokenDays))
			case !slices.Contains(tokenRoles, role):
				return wrongUse(cmd, fmt.Errorf("--role %q: use operator, which may act, or viewer", role))
			case t.Check() != nil:
				return wrongUse(cmd, t.Check())
			}
			file, err := g.ownTokens()
			if err != nil {
				return err
			}
			secret, err := file.Add(t)
			if err != nil {
				return err
			}
			row := rowOf(t)
			return g.printText(cmd, TokenAdded{row, secret}, fmt.Sprintf("%s\ntoken %s: %s of %s until %s; it is not shown again\n",
				secret, t.Name, t.Role, answer.Or(pop, "all PoPs"), answer.Stamp(t.Expires)))
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "operator, which may act, or viewer")
	complete(cmd, "role", tokenRoles)
	cmd.Flags().StringVar(&pop, "pop", "", "the only PoP that it may ask about; default: all")
	cmd.Flags().Uint64Var(&days, "days", tokenDays, "how long it is valid")
	return cmd
}

var tokenRoles = []string{string(mtls.Operator), string(mtls.Viewer)}

func newTokenList(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tokens without their secrets",
		Example: "  sudo congctl token list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := g.ownTokens()
			if err != nil {
				return err
			}
			tokens, err := file.List()
			if err != nil {
				return err
			}
			rows := make([]TokenRow, 0, len(tokens))
			for _, t := range tokens {
				rows = append(rows, rowOf(t))
			}
			return g.printTable(cmd, rows, func(w io.Writer) error { return writeTokens(w, rows) })
		},
	}
}

func writeTokens(w io.Writer, rows []TokenRow) error {
	cells := make([][]string, 0, len(rows))
	for _, r := range rows {
		state := "valid"
		if r.Expired {
			state = "expired"
		}
		cells = append(cells, []string{r.Name, string(r.Role), answer.Or(r.PoP, "all"), answer.Stamp(r.ExpiresUnixS), state})
	}
	return answer.Table(w, "NAME ROLE POP EXPIRES STATE", cells)
}

// TokenRemoved is the answer of token remove.
type TokenRemoved struct {
	Name string `json:"name"`
}

func newTokenRemove(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "End a token: it is refused from the next request on",
		Example: "  sudo congctl token remove board",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := g.ownTokens()
			if err != nil {
				return err
			}
			if err := file.Remove(args[0]); errors.Is(err, token.ErrNone) {
				return notFound("congctl token list", err)
			} else if err != nil {
				return err
			}
			return g.printText(cmd, TokenRemoved{args[0]}, "token "+args[0]+" is removed\n")
		},
	}
}

// ownTokens is the file of the configured state directory, as the directory's user reads and writes it.
func (g *global) ownTokens() (*token.File, error) {
	cfg, err := g.config()
	if err != nil {
		return nil, err
	}
	return tokensOf(cfg, nil), privilege.Become(cfg.StateDir)
}

// tokensOf is the file of a controller's tokens; fault takes its faults.
func tokensOf(cfg config.Config, fault func(error)) *token.File {
	return &token.File{Path: filepath.Join(cfg.StateDir, "tokens"), Read: readSecret, Fault: fault}
}

const maxSecrets = 1 << 20 // bytes: some thousand tokens

// readSecret reads a file that only its owner may read, and only root or this user could have written.
func readSecret(path string) ([]byte, error) {
	b, err := plainfile.ReadOwned("", path, maxSecrets)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %o: others could read it: chmod 600 %s", path, mode, path)
	}
	return b, nil
}

// secretOf reads fleet.token_file.
func secretOf(f config.Fleet) (string, error) {
	b, err := readSecret(f.TokenFile)
	if err != nil {
		return "", usage(fmt.Errorf("read fleet.token_file: %w", err))
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage(fmt.Errorf("fleet.token_file %s: not one token: write what `congctl token add` prints in its first line", f.TokenFile))
	}
	return secret, nil
}
