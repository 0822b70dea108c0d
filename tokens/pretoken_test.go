package tokens

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// fileBytes limits the part of a file that is compared; the library needs half a second per megabyte.
const fileBytes = 2 << 10

// TestPretokensOfTheRepository compares the texts of this repository: source code in several languages, documents,
// recorded traces and configuration.
func TestPretokensOfTheRepository(t *testing.T) {
	kinds := []string{".go", ".md", ".ts", ".tsx", ".css", ".html", ".json", ".jsonl", ".yaml", ".txtar", ".tsv", ".sql", ""}
	seen := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch kind := filepath.Ext(path); {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "bin"):
			return fs.SkipDir
		case d.Type().IsRegular() && slices.Contains(kinds, kind):
			seen[kind]++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, r := range references(t) {
				r.check(t, string(text[:min(len(text), fileBytes/scale)]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen[".go"] < 100 || seen[".jsonl"] < 10 {
		t.Errorf("compared only %v", seen)
	}
}

// scripts are texts in which the patterns behave differently: without spaces, with marks, without case.
var scripts = map[string]string{
	"Chinese":     "会话服务器把对话保存在一个文件里，并决定每个请求包含什么内容。第3章：「缓存」2.5倍！\n编辑器通过ACP连接。",
	"Japanese":    "お誕生日おめでとう、ｶﾀｶﾅとＡＢＣ。コンピューターは３０分で起動しました。",
	"Korean":      "안녕하세요, 서버가 대화를 저장합니다. 한글 자모 ㅋㅋㅋ 2024년",
	"Russian":     "Сервер хранит разговоры в ОДНОМ файле, й и ё с надстрочными знаками: и\u0306 е\u0308. «Кавычки» — тире…",
	"Arabic":      "السَّلَامُ عَلَيْكُمْ وَرَحْمَةُ اللهِ، ١٢٣٤٥ كِتَابٌ\u200f؟ ـــ",
	"Hebrew":      "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם",
	"Hindi":       "नमस्ते दुनिया, क्या हाल है? १२३ हिन्दी।",
	"Thai":        "สวัสดีครับ ประเทศไทย กรุงเทพฯ ๑๒๓ น้ำ",
	"Tamil":       "வணக்கம் உலகம், தமிழ் மொழி",
	"German":      "Straßenbahnüberführung, GROẞ und klein: »Äpfel«, 'ne Maß, geht's? 1.000,50 €\r\n\r\nÜber-Ich",
	"Vietnamese":  "Tiếng Việt có dấu, Tie\u0302\u0301ng Vie\u0323\u0302t tách dấu",
	"Greek":       "Ο ΣΊΣΥΦΟΣ, ὁ Σίσυφος· ᾼ ᾳ ᾈ ½ Ⅷ ⅷ",
	"titlecase":   "ǅungla ǄUNGLA ǆungla ǈ ᾈᾳ ʰʰA Aʰ aʰB ªº",
	"emoji":       "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 1️⃣2️⃣ ❤️‍🔥!🙂🙂",
	"spaces":      "a\u00a0b\u2003 c\u3000\u3000d \u2028e\u2029\u0085f \v\f g\t\t h \u200b i\ufeffj   \n  \r\n\t k  ",
	"contraction": "don't he'd'x can'T'X I'm we're THEY'VE he'LL it'S 'Twas 'd 'ſ it'ſ 'ſt o'clock ''s's 'r 've're'\n'll a'lL b'",
	"paths":       "/usr//bin/ ./a/b.c\n/x \n// note ///\r\n/ http://h/p?q=1&r=%20#/ ..//\n\n/",
	"invalid":     "a\xffb\xfe\xfd \xe4\xb8 \xed\xa0\x80!\xc0\xaf\n\xff's\xf4\x90\x80\x80\xe4",
	"controls":    "\x00\x01a\x1b[31mred\x1b[0m\x7f\u0090\U000e0001\U0010ffff\uffff",
}

func TestPretokensOfScripts(t *testing.T) {
	for name, text := range scripts {
		t.Run(name, func(t *testing.T) {
			for _, r := range references(t) {
				r.check(t, text)
				for cut := range text { // the end of a text is a case of its own
					r.check(t, text[:cut])
				}
				r.check(t, strings.ToUpper(text))
			}
		})
	}
}

// distinguished are the runes and bytes that the patterns distinguish: at least one of each class, the space, the slash, the
// apostrophe, letters of contractions, and one that only full case folding makes such a letter.
var distinguished = []string{
	"A", "ǅ", "a", "ʰ", "中", "\u0301", "1", "\n", "\r", " ", "\t", "\u2003", "!", "/", "'", "s", "l", "ſ", "\xff",
}

// TestPretokensOfEveryShortText compares all texts of up to four distinguished runes.
func TestPretokensOfEveryShortText(t *testing.T) {
	longest := 4
	if scale > 1 {
		longest = 2
	}
	for _, r := range references(t) {
		t.Run(r.encoding, func(t *testing.T) {
			t.Parallel()
			texts := []string{""}
			for range longest {
				var longer []string
				for _, text := range texts {
					for _, added := range distinguished {
						longer = append(longer, text+added)
						r.checkSplit(t, text+added)
					}
				}
				texts = longer
			}
		})
	}
}

func TestPretokensOfRandomTexts(t *testing.T) {
	parts := slices.Concat(distinguished, []string{
		"'re", "'VE", "'lL", "'m", "'D", "'t", "E", "v", "r", "  ", "\r\n", "//", "\u0085", "\u00a0", "\u3000", "\v", "\ufffd", "\xe4\xb8",
		"₂", "Ⅷ", "٣", "🙂", "\u200d", "\ufe0f", "É", "é", "ß", "Ж", "ж", "ª", "word", "Word", "WORD", "漢字",
	})
	random := rand.New(rand.NewPCG(11, 12))
	for range 6000 / scale {
		text := randomText(random, parts, 1+random.IntN(100))
		for _, r := range references(t) {
			r.check(t, text)
		}
	}
}

// TestPretokensWithEveryRune compares short texts around every rune, except for most of the planes without letters.
func TestPretokensWithEveryRune(t *testing.T) {
	contexts := []string{"aRB", " R's", "'R", "'lR", "'Re", "  RR/"}
	for _, r := range references(t) {
		t.Run(r.encoding, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			for c := rune(0); c <= unicode.MaxRune; c += step(c) {
				for _, context := range contexts {
					text.WriteString(strings.ReplaceAll(context, "R", string(c)))
				}
				if text.Len() > 1<<12 || c+step(c) > unicode.MaxRune {
					r.checkSplit(t, text.String())
					text.Reset()
				}
			}
		})
	}
}

// step returns the distance from a rune to the next one to compare.
func step(c rune) rune {
	switch {
	case scale > 1:
		return 97
	case c < 0x20000:
		return 1
	}
	return 61
}

// TestForcedSplitsAreThoseOfTheLibrary compares texts whose count depends on chunks, seams, or invalid UTF-8 in them.
func TestForcedSplitsAreThoseOfTheLibrary(t *testing.T) {
	parts := [][]string{
		{"the", "context", "window"}, {"!", "#", "=", "\u0301"}, {" ", "\t", "\u3000", "\n"}, {"漢", "字", "か", "な"}, {"é", "Ж", "ǅ"},
		{"\xff", "\xe4\xb8", "a"}, {"/", "\n", "\r"}, {"1", "٣"}, ordinary, distinguished,
	}
	random := rand.New(rand.NewPCG(13, 14))
	for range 100 / scale {
		var text strings.Builder
		for range 6 {
			text.WriteString(randomText(random, parts[random.IntN(len(parts))], random.IntN(2000)))
		}
		for _, r := range references(t) {
			got, _ := For(r.encoding).measure(t.Context(), text.String())
			want, _ := counterOf(r.library.EncodeOrdinary).measure(t.Context(), text.String())
			if got != want {
				t.Fatalf("%s: %d tokens, want %d, in %q", r.encoding, got, want, text.String())
			}
		}
	}
}

func TestTokensAreCountedWithoutTheLibrary(t *testing.T) {
	text := strings.Repeat("The server doesn't store 42 words.\n\n    Here: и!\n会\n", 20)
	for _, r := range references(t) {
		tok := *r.tokenizer
		tok.merge = func(pretoken string) int {
			t.Errorf("%s: %q is not looked up", r.encoding, pretoken)
			return 1
		}
		if n := testing.AllocsPerRun(100, func() { tok.count(text) }); n != 0 {
			t.Errorf("%s: %v allocations", r.encoding, n)
		}
	}
}

func FuzzPretokens(f *testing.F) {
	for _, text := range scripts {
		f.Add(text)
	}
	for _, text := range ordinary {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 1<<10)] // the library's time is quadratic
		for _, r := range references(t) {
			r.check(t, text)
		}
	})
}

// BenchmarkAgainstTheLibrary counts the same texts with the library alone, which splits them by regular expressions, and with
// a tokenizer that remembers no pre-token yet.
func BenchmarkAgainstTheLibrary(b *testing.B) {
	random := rand.New(rand.NewPCG(15, 16))
	texts := map[string]string{
		"prose": joined(b, "../docs/*.md"),
		"code":  joined(b, "../session/*.go"),
		"Chinese": randomText(random, []string{"会话", "服务器", "把", "对话", "保存", "在", "文件", "里", "并", "决定", "请求", "的", "内容", "，", "。\n", "编辑器",
			"通过", "协议", "连接", "可以", "看到", "大小", "和", "原因", "ACP"}, 300<<10),
	}
	library := counterOf(referenceOf(b, O200k).library.EncodeOrdinary)
	for name, text := range texts {
		count := func(b *testing.B, build func() *Counter) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c := build()
				b.StartTimer()
				c.measure(b.Context(), text)
			}
		}
		b.Run(name+"/library", func(b *testing.B) { count(b, func() *Counter { return library }) })
		b.Run(name+"/ours", func(b *testing.B) {
			count(b, func() *Counter {
				c := newCounter(O200k, o200kTable, 199_998, o200kPretoken)
				c.Count("the table is built")
				return c
			})
		})
	}
}

func joined(b *testing.B, pattern string) string {
	b.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		b.Fatal(names, err)
	}
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, text...)
	}
	return string(all[:min(len(all), 300<<10)])
}
