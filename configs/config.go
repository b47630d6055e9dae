// Package configs reads the settings of gander: flags, then GANDER_* of the
// environment, then a YAML file, then defaults; the first that says something
// counts.
package configs

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"gander/schemas/fault"
)

// Example is a configuration file with every setting at its default.
//
//go:embed gander.yaml
var Example string

// Config is every setting. Names are those of the flags.
type Config struct {
	Warehouse   string `mapstructure:"warehouse"`
	LogFormat   string `mapstructure:"log-format"` // text or json
	Host        string `mapstructure:"host"`
	User        string `mapstructure:"user"`
	Live        bool   `mapstructure:"live"`
	Strict      bool   `mapstructure:"strict"`
	JSON        bool   `mapstructure:"json"`
	SkipDeleted bool   `mapstructure:"skip-deleted"`
	Workers     int    `mapstructure:"workers"`      // homes at a time; 0: one per processor
	MemoryLimit string `mapstructure:"memory-limit"` // of DuckDB, such as 256MB; "": what it needs
	MaxScratch  string `mapstructure:"max-scratch"`  // bytes that archives may unpack to, such as 64GB
	Format      string `mapstructure:"format"`
	Output      string `mapstructure:"output"`

	MaxScratchBytes int64 `mapstructure:"-"` // MaxScratch, read
}

// Defaults returns the settings when nothing is said.
func Defaults() Config {
	return Config{Warehouse: "warehouse", LogFormat: "text", MaxScratch: "64GB"}
}

// Load merges file, if one is named, the environment and the flags. Every
// error is of kind fault.Usage.
func Load(flags *pflag.FlagSet, file string) (Config, error) {
	v := viper.New()
	d := Defaults()
	for key, value := range map[string]any{
		"warehouse": d.Warehouse, "log-format": d.LogFormat, "host": d.Host, "user": d.User, "live": d.Live, "strict": d.Strict,
		"json": d.JSON, "skip-deleted": d.SkipDeleted, "workers": d.Workers, "memory-limit": d.MemoryLimit, "max-scratch": d.MaxScratch, "format": d.Format, "output": d.Output,
	} {
		v.SetDefault(key, value)
	}
	v.SetEnvPrefix("gander")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	if file != "" {
		v.SetConfigFile(file)
		v.SetConfigType("yaml")
		if err := v.ReadInConfig(); err != nil {
			return Config{}, &fault.Error{Kind: fault.Usage, Op: "read configuration", Path: file, Err: err,
				Hint: "A configuration is a YAML file with the names of the flags as keys: see configs/gander.yaml."}
		}
	}
	var bind error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && f.Name != "help" && v.IsSet(f.Name) {
			bind = errors.Join(bind, v.BindPFlag(f.Name, f))
		}
	})
	if bind != nil {
		return Config{}, &fault.Error{Kind: fault.Internal, Op: "bind flags", Err: bind}
	}
	var c Config
	if err := v.UnmarshalExact(&c); err != nil {
		return Config{}, &fault.Error{Kind: fault.Usage, Op: "read configuration", Path: file, Err: err,
			Hint: "The keys are the names of the flags: see `gander run --help`."}
	}
	return c, c.check()
}

func (c *Config) check() error {
	bad := func(key, value, want string) error {
		return &fault.Error{Kind: fault.Usage, Op: "read configuration", Err: fmt.Errorf("%s is %q", key, value), Hint: key + " is " + want + "."}
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		return bad("log-format", c.LogFormat, "text or json")
	}
	if c.Workers < 0 {
		return bad("workers", strconv.Itoa(c.Workers), "a number from 0; 0 takes one per processor")
	}
	if c.Warehouse == "" {
		return bad("warehouse", "", "a directory")
	}
	var ok bool
	if c.MaxScratchBytes, ok = parseSize(c.MaxScratch); !ok {
		return bad("max-scratch", c.MaxScratch, "a size such as 500MB or 64GB")
	}
	if _, ok := parseSize(c.MemoryLimit); !ok && c.MemoryLimit != "" {
		return bad("memory-limit", c.MemoryLimit, "a size such as 500MB or 4GB")
	}
	return nil
}

// parseSize reads a number of bytes above 0 with an optional unit, decimal
// (kB, MB, GB, TB) or binary (KiB, MiB, GiB, TiB), in any case.
func parseSize(s string) (int64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "bikmgt")
	scale, ok := map[string]float64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[s[len(digits):]]
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	n *= scale
	return int64(n), ok && err == nil && n >= 1 && n < 1<<62
}
