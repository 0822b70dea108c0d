package digest

import "strings"

// cue is a class of words by which a sentence shows its purpose.
type cue int

// The classes of cues. One sentence can have several.
const (
	cueRule    cue = 1 << iota // sets a limit: must, never, only
	cueDecided                 // reports a decision
	cueChoice                  // makes or proposes one
	cueTurn                    // takes something back
	cueNext                    // speaks of work to come
	cueUnknown                 // names something that is not known
	cueReason
	cueFailure
	cueDone
)

// cueWords lists the words of each class in lower case, in English, German, French, Spanish, Italian, Portuguese and Dutch. A
// space means a word boundary. Words that have another meaning in one of the other languages are missing.
var cueWords = []struct {
	cue   cue
	words []string
}{
	{cueRule, []string{
		" must ", " must not", " mustn't", " never ", " always ", " don't ", " do not ", " only ", " not allowed", " may not ", " no longer than", " at most ", " at least ",
		" has to ", " have to ", " need to be ", " needs to be ", " please ", " careful", " make sure", " ensure ", " avoid ", " stick to", " required", " requirement",
		" forbidden", " off limits", " untouched", " unchanged", " frozen", " sacred", " stays ", " stay as", " as it is", " as they are", " without ", " nothing may", " no one ",
		" nobody may", " not even ", " off-limits", " hands off", " leave ", " keep ", " can't ", " cannot ", " shouldn't ", " should not ", " won't ", " nothing else", " no more ",
		" nicht ", " nie ", " niemals ", " kein ", " keine ", " keinen ", " nur ", " muss ", " müssen ", " darf ", " dürfen ", " bitte ", " immer ", " unbedingt", " auf keinen fall", " soll ", " sollen ", " ohne ", " bleibt ",
		" jamais ", " ne pas ", " n'est pas ", " seulement ", " uniquement ", " doit ", " doivent ", " toujours ", " il faut ", " interdit", " s'il te plaît", " s'il vous plaît", " svp ", " sans ", " aucun ", " aucune ", " pas de ",
		" nunca ", " jamás ", " solo ", " sólo ", " debe ", " deben ", " siempre ", " hay que ", " por favor", " prohibido", " sin ", " ningún ", " ninguna ",
		" mai ", " soltanto ", " deve ", " devono ", " sempre ", " per favore", " senza ", " nessun ", " não ", " somente ", " nooit ", " niet ", " alleen ", " moet ", " altijd ", " alsjeblieft ", " geen ",
		"必须", "不要", "不能", "禁止", "只能", "绝不", "してはいけ", "しないで", "必ず",
	}},
	{cueDecided, []string{
		" decision", " decide", " decided", " we agreed", " agreed to", " agreed on", " we chose", " chosen", " settled on", " entschieden", " entscheidung", " beschlossen", " décidé", " décision", " decidido", " decisión", " decidimos",
		" deciso", " decisione", " decidiu", " decisão", " besloten", "决定", "決定",
	}},
	{cueChoice, []string{
		" settle on", " going with", " go with ", " we go ", " goes with", " we will use", " we'll use",
		" let's ", " lets ", " opted for", " final:", " final ", " i'll take", " we take ", " take option", " option ", " i want ", " we want ", " i'd rather", " prefer", " it is then", " we use ", " let us ",
		" wir nehmen", " nehmen wir", " machen wir", " wir machen", " lass uns", " lieber ", " stattdessen", " wir bleiben",
		" on prend ", " on garde ", " on part ", " on passe", " plutôt", " préfère", " vamos a usar", " vamos con", " nos quedamos", " prefiero", " mejor ",
		" usiamo", " preferisco", " vamos usar", " we gaan", " liever", "改用",
	}},
	{cueTurn, []string{
		" forget ", " scrap", " revert", " undo ", " undid ", " no longer", " back to", " changed my mind", " change of plan", " after all", " never mind", " nevermind", " on second thought", " goes out", " go back", " went back", " going back",
		" throw away", " drop the", " drop that", " dropped", " dropping", " take it back", " take that back", " not anymore", " any more", " instead", " rather than", " pointless", " abandon", " overruled", " was wrong", " scratch that", " replaces ", " supersede", " cancel that", " rip out", " roll back", " rolled back",
		" vergiss", " verwerfen", " verworfen", " doch nicht", " doch lieber", " doch wieder", " zurück zu", " stattdessen", " nicht mehr", " rückgängig", " anders überlegt",
		" oublie", " finalement", " au lieu d", " on revient", " on abandonne", " laisse tomber", " changé d'avis", " olvida", " en vez de", " en lugar de", " volvemos", " al final ", " descarta", " cambié de opinión",
		" dimentica", " invece ", " torniamo", " esquece", " em vez de", " voltamos", " vergeet ", " toch niet", " toch maar", " terug naar", "算了", "改回", "やっぱり", "やめ",
	}},
	{cueNext, []string{
		" next ", " next:", " todo", " to do", " to-do", " tomorrow", " afterwards", " after that", " follow-up", " follow up", " remaining", " remains ", " still need", " still has to", " still have to", " still missing", " not yet", " not made it", " on my list", " on the list", " backlog", " by monday", " by tuesday", " by wednesday", " by thursday", " by friday", " weekend",
		" morgen", " nächste", " als nächstes", " danach", " später", " übrig", " ausstehend", " fehlt noch", " noch nicht", " muss noch", " müssen noch",
		" demain", " ensuite", " prochain", " reste à", " à faire", " pas encore", " mañana", " luego ", " después", " próxim", " pendiente", " queda por", " todavía no", " aún no", " falta ",
		" domani", " poi ", " prossim", " ancora da", " amanhã", " depois", " falta ", " straks", " volgende", " daarna", "下一步", "明天", "待办", "明日", "次に",
	}},
	{cueUnknown, []string{
		" don't know", " do not know", " don't yet know", " unclear", " not clear", " not sure", " unsure", " whether ", " open question", " open issue", " open point", " undecided", " to be decided", " tbd ", " still open", " remains open", " unresolved", " wonder", " no idea", " question is", " questions ", " find out", " i'll ask", " i will ask", " have to ask", " need to ask", " can't tell", " cannot tell", " can't prove", " can't say",
		" unklar", " offen", " weiß nicht", " weiss nicht", " keine ahnung", " ungeklärt", " ob ", " frage ist", " klären", " sais pas", " pas clair", " à voir", " question ouverte", " reste à savoir", " no sé", " no está claro", " duda", " por decidir",
		" non so ", " non è chiaro", " não sei", " weet niet", " onduidelijk", "不清楚", "不知道", "不确定", "わから", "不明",
	}},
	{cueReason, []string{
		" because", " since ", " so that", " due to", " therefore", " otherwise", " that's why", " the reason", " hence", " caused by", " root cause", " explains", " means that", " turns out", " for the ", " as the ", " that is what", " guesses", " that one bit us",
		" weil ", " damit ", " sonst ", " deshalb", " denn ", " wegen ", " grund", " da die ", " parce que", " car ", " sinon", " afin ", " à cause", " puisque", " porque", " ya que", " debido", " para que", " si no ", " perché", " altrimenti", " pois ", " omdat", " anders ", "因为", "由于", "否则", "から", "ため",
	}},
	{cueFailure, []string{
		"error", " failed", " fail:", " fails", " fail ", " failing", " failure", "exception", " panic", " fatal", " traceback", " exit status", " exit code", " undefined", " segmentation fault", " timed out", " timeout", " cannot ", " can't ", " could not ", " couldn't ", " refused", " crash", " deadlock", " regression", " broken", " breaks", " does not work", " doesn't work", " rejects", " rejected", " denied", " killed", " out of memory", " mismatch", " does not match", " not found", " no such ", " unexpected", " expected", " got ", " invalid", " violat", " missing", " aborted", " conflict", " duplicate", " exhausted", " flaky", " leak",
		" fehler", " schlägt fehl", " kaputt", " abgestürzt", " échec", " échoue", " erreur", " plante", " fallo", " falla", " roto", " errore", " fallisce", " erro ", " falha", " fout ", " mislukt", "错误", "失败", "エラー", "失敗",
	}},
	{cueDone, []string{
		" works", " passes", " passed", " pass ", " fixed", " resolved", " succeeded", " successful", " green ", " done ", " finished", " implemented", " merged", " deployed", " reverted", " added ", " moved ", " renamed ", " removed ", " deleted ", " patched", " pinned", " measured",
		" erledigt", " läuft", " behoben", " fertig", " terminé", " corrigé", " listo", " arreglado", " fatto", " klaar", "完成", "完了",
	}},
}

// cuesOf returns the classes of the cues in a sentence.
func cuesOf(sentence string) cue {
	text := bordered(sentence)
	var found cue
	for _, class := range cueWords {
		for _, word := range class.words {
			if strings.Contains(text, word) {
				found |= class.cue
				break
			}
		}
	}
	if found&cueUnknown != 0 && strings.HasPrefix(text, " i ") {
		found &^= cueRule // I don't know
	}
	return found
}

// bordered returns text in lower case, with a space before and after it and punctuation replaced by spaces.
func bordered(text string) string {
	return " " + strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(".,;!?()[]\"`*\t…“”„", r):
			return ' '
		case r == '’':
			return '\''
		}
		return r
	}, strings.ToLower(text)) + " "
}

// rejected returns the subjects of the clauses of a sentence that take something back.
func rejected(sentence string) []string {
	var gone []string
	for clause := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return strings.ContainsRune(",;:.", r) }) {
		text := bordered(clause)
		for _, word := range rejections {
			if strings.Contains(text, word) {
				gone = append(gone, subjects(clause)...)
				break
			}
		}
	}
	return gone
}

// rejections are the cues of class cueTurn whose clause names the rejected option, not the new one.
var rejections = []string{
	" forget ", " scrap", " revert", " undo ", " no longer", " drop ", " dropped", " goes out", " throw away", " abandon", " pointless", " remove ", " not anymore", " instead of", " rather than", " rip out", " never mind",
	" vergiss", " verwerfen", " verworfen", " doch nicht", " nicht mehr", " statt ", " raus", " oublie", " au lieu", " on abandonne", " olvida", " en vez de", " descarta", " invece di", " esquece", " vergeet",
}
