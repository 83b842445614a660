"""What a full stop means in each language, beside the end of a sentence: a table.

Of each language, by its ISO 639-1 code:

- `continued`: abbreviations that more of the sentence always follows: `Mr. Smith`, `z. B. so`
- `numbered`: abbreviations if a number follows, and otherwise words: `No. 5`, but `He said no. She left.`
- `closing`: abbreviations that may also end a sentence; they do so only before one of the `first_words`
- `suffixes`: ends of words that are abbreviated: `Goethestr. 5`
- `first_words`: words that often begin a sentence, and seldom follow an abbreviation inside of one
- `ordinals`: whether a full stop after a number makes it an ordinal: `am 3. Oktober`
- `marks`: signs that end a sentence in this language alone
- `periods`: whether the full stop ends sentences at all

A missed end leaves two sentences together, as they are without splitting; a false one breaks a sentence. In doubt an
abbreviation is listed.
"""

from typing import Any

LANGUAGES: dict[str, dict[str, Any]] = {
    "en": {
        "continued": "Mr Mrs Ms Messrs Mx Dr Prof Rev Hon Gen Col Maj Capt Cpt Cmdr Lt Sgt Cpl Adm Gov Sen Rep Pres "
        "Supt Insp Sr Mt Ft e.g i.e eg ie viz cf vs v approx ca resp esp incl aka",
        "numbered": "No Nos Nr p pp Vol vols Ch chap Sec Fig figs Eq eqs Art Arts para paras ed eds ver Op Ex Tab Jan "
        "Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec line",
        "closing": "St Ave Blvd Rd Univ Assn Jr Inc Ltd Co Corp LLC Bros etc al ibid U.S U.K U.N E.U U.S.A D.C a.m "
        "p.m A.D B.C Ph.D M.D B.A M.A est min max dept",
        "first_words": "The A An This That These Those He She It We They I You There Then When Where What Who Why How "
        "If "
        "In On At But And So As For After Before While Although However My Your His Her Our Their Its One "
        "Some All No Yes",
    },
    "de": {
        "continued": "Hr Fr Hrn Frl Dr Prof Dipl Ing Mag St Str Hl z.B z.T z.Z z.Zt d.h i.d.R i.A i.V i.e.S u.a u.U "
        "u.Ä v.a v.Chr n.Chr o.g o.ä s.o s.u m.E bzw bspw vgl ca evtl ggf inkl exkl sog gen geb gest allg "
        "insb insbes zzgl abzgl lt vs max min mind einschl gem rd röm kath ev Bsp Jh Jhd Mio Mrd Tsd Abb "
        "Aufl Ausg Hrsg hrsg Verf Anm Ver Tel tel bzgl entspr jew usf dt engl frz lat",
        "numbered": "Nr Art Abs Kap Bd Bde S Ziff Tab Fig Anl Jan Feb Mär Apr Jun Jul Aug Sep Sept Okt Nov Dez §",
        "closing": "usw etc u.s.w u.s.f ff f Co GmbH e.V a.D",
        "suffixes": "str",
        "first_words": "Der Die Das Den Dem Ein Eine Sein Seine Ihre Er Sie Es Ich Wir Ihr Du Man Dies Diese Dieser "
        "Dieses Dann Da Doch Aber Und Auch Wenn Als Nach Bei Im In Am An Mit Von Zu Für So Nun Hier Dort "
        "Danach Deshalb Daher Jedoch Was Wer Wie Wo",
        "ordinals": True,
    },
    "fr": {
        "continued": "M MM Mr Dr Pr Me Mgr Mlle Mme St Ste p.ex par.ex c.-à-d c.à.d i.e cf env av apr ap bd boul "
        "pl tél fig réf suppl trad éd coll vs v dir prof gén col lt cap Sté max min hab",
        "numbered": "n no nos art chap vol t p pp al ch § sect tab janv févr avr juil sept oct nov déc",
        "closing": "etc sq ibid id Cie J.-C Inc",
        "first_words": "Le La Les L' Un Une Des Il Elle Ils Elles Je Nous Vous Tu On Ce C' Cette Ces Cet Mais Et Puis "
        "Alors Dans En Au Aux À Pour Par Avec Si Quand Après Avant Son Sa Ses Leur Leurs Qui Que Où "
        "Comment",
    },
    "es": {
        "continued": "Sr Sra Srta Sres Dr Dra Prof Profa D Dña Da Ing Lic Arq Gral Cnel Cap Mons Sto Sta S p.ej ej i.e "
        "cf vid av avda c ca aprox tel núm máx mín vs EE Fdo",
        "numbered": "n no núm art arts cap vol t p pág págs fig tomo §",
        "closing": "etc Ud Uds Vd Vds Cía EE.UU a.C d.C a.m p.m S.A S.L ss",
        "first_words": "El La Los Las Un Una Unos Él Ella Ellos Ellas Yo Nosotros Usted Ustedes Esto Este Esta Estos "
        "Estas Eso Pero Y Entonces En Por Para Con Si Cuando Después Antes Su Sus Al Del No Sí Qué Quién "
        "Cómo Dónde Hay",
    },
    "it": {
        "continued": "Sig Sigg Sig.ra Sig.na Dott Dott.ssa Dr Prof Prof.ssa Ing Avv Arch Geom Rag On Mons S p.es "
        "ad.es es i.e cfr ca tel v vs c.a gent egr spett max min",
        "numbered": "n nn num art artt cap vol p pag pagg fig par tab",
        "closing": "ecc etc S.p.A S.r.l a.C d.C ss",
        "first_words": "Il Lo La I Gli Le Un Una Uno Lui Lei Egli Ella Essi Loro Io Noi Voi Questo Questa Questi "
        "Queste "
        "Ma E Poi Allora In Nel Nella Per Con Se Quando Dopo Prima Suo Sua Non Sì Che Chi Come Dove C'è",
    },
    "pt": {
        "continued": "Sr Sra Srta Srs Dr Dra Prof Profa Eng Arq Exmo Exma Ilmo D Pe Sto Sta S p.ex ex i.e cf av r tel "
        "aprox máx mín vs gov gen cap",
        "numbered": "n nº núm art arts cap vol t p pág págs fig §",
        "closing": "etc Ltda Cia S.A a.C d.C a.m p.m ss",
        "first_words": "O A Os As Um Uma Ele Ela Eles Elas Eu Nós Você Vocês Isto Isso Este Esta Esse Essa Mas E Então "
        "Em No Na Por Para Com Se Quando Depois Antes Seu Sua Não Sim Que Quem Como Onde Ao",
    },
    "nl": {
        "continued": "dhr mevr mw mr drs dr ir ing prof ds jhr bijv bv d.w.z d.m.v m.b.t m.b.v m.a.w n.a.v o.a o.m "
        "i.p.v i.v.m t.a.v t.o.v t.g.v t/m z.g zgn nl ca evt incl excl vgl resp St tel max min gem",
        "numbered": "nr nrs art afl blz pag hfst dl fig par jan feb mrt apr jun jul aug sept okt nov dec",
        "closing": "enz etc e.d e.a e.v N.V B.V v.Chr n.Chr",
        "first_words": "De Het Een Hij Zij Ze Wij We Ik Jij Je U Jullie Dit Dat Deze Die Maar En Dan Toen In Op Aan "
        "Met "
        "Voor Van Als Na Om Er Daar Hier Zijn Haar Hun Ook Nu Wat Wie Hoe Waar",
    },
    "sv": {
        "continued": "dr prof ing fr hr t.ex d.v.s dvs bl.a bl m.fl f.d f.n fr.o.m t.o.m s.k p.g.a m.a.o i.e jfr ca "
        "resp inkl exkl ang enl st tel max min",
        "numbered": "nr s sid kap bd fig jan feb apr jun jul aug sept okt nov dec",
        "closing": "osv o.s.v m.m etc f.Kr e.Kr e.d",
        "first_words": "Den Det De En Ett Han Hon Vi Jag Du Ni Man Detta Denna Dessa Men Och Så Då I På Med För Till "
        "Om "
        "När Efter Här Där Nu Vad Vem Hur Var",
    },
    "da": {
        "continued": "hr fr dr prof ing f.eks fx bl.a d.v.s dvs m.h.t p.g.a pga iflg jf jfr ca inkl ekskl evt vedr tlf "
        "kl sml Skt st max min ang",
        "numbered": "nr s sd kap bd fig jan feb apr jun jul aug sept okt nov dec",
        "closing": "osv o.s.v m.m m.v mv etc f.Kr e.Kr o.l",
        "first_words": "Den Det De En Et Han Hun Vi Jeg Du I Man Dette Denne Disse Men Og Så Da På Med For Til Om Når "
        "Efter Her Der Nu Hvad Hvem Hvordan Hvor",
        "ordinals": True,
    },
    "no": {
        "continued": "hr fr dr prof ing f.eks feks bl.a dvs d.v.s mht pga p.g.a iflg jf jfr ca inkl ekskl evt vedr tlf "
        "kl St max min ang",
        "numbered": "nr s kap bd fig jan feb apr jun jul aug sept okt nov des",
        "closing": "osv o.s.v m.m mv etc f.Kr e.Kr o.l",
        "first_words": "Den Det De En Et Ei Han Hun Vi Jeg Du Dere Man Dette Denne Disse Men Og Så Da I På Med For Til "
        "Om Når Etter Her Der Nå Hva Hvem Hvordan Hvor",
        "ordinals": True,
    },
    "fi": {
        "continued": "esim ts t.s eli mm m.m nk ns em ko vrt ks n noin tri toht prof hra rva nti puh max min k.o",
        "numbered": "nro s sivu luku klo kuva",
        "closing": "jne yms ym ynnä eKr jKr e.Kr j.Kr Oy",
        "first_words": "Se Hän He Minä Sinä Me Te Tämä Tuo Nämä Ne Mutta Ja Sitten Kun Jos Nyt Siellä Täällä Mikä Kuka "
        "Miten",
        "ordinals": True,
    },
    "is": {
        "continued": "t.d þ.e m.a þ.m.t sbr dr hr frú u.þ.b",
        "numbered": "nr bls kl",
        "closing": "o.s.frv o.fl",
        "first_words": "Það Hann Hún Þau Þeir Við Ég Þú En Og Svo Þetta Þessi",
        "ordinals": True,
    },
    "et": {
        "continued": "nt s.o st jt dr prof hr pr lk vt ca u vrd",
        "numbered": "nr lk p kl",
        "closing": "jne jm jms e.Kr pKr",
        "first_words": "See Ta Tema Nad Me Ma Sa Te Aga Ja Siis Kui Nüüd Mis Kes Kuidas",
        "ordinals": True,
    },
    "lv": {
        "continued": "piem t.i dr prof u.tml apm",
        "numbered": "nr lpp lp",
        "closing": "utt u.c u.t.t",
        "first_words": "Tas Tā Viņš Viņa Viņi Mēs Es Tu Jūs Bet Un Tad Ja Kad Šis Šī",
        "ordinals": True,
    },
    "lt": {
        "continued": "pvz t.y vad dr prof p apie plg žr g",
        "numbered": "nr p psl str sk",
        "closing": "ir.t.t t.t kt pan",
        "first_words": "Jis Ji Jie Mes Aš Tu Jūs Tai Bet Ir Tada Jei Kai Šis Ši",
    },
    "pl": {
        "continued": "p pan dr hab prof inż mgr lek ks św np m.in tzn tj tzw ok ul al pl woj im zob por wg ang niem fr "
        "łac ds gen płk mjr kpt por sierż red max min",
        "numbered": "nr art ust pkt s str t tom rozdz rys tab poz godz",
        "closing": "itd itp etc in r w p.n.e n.e S.A Sp",
        "first_words": "To Ten Ta Te On Ona Oni One Ja My Ty Wy Ale I A W Na Z Po Gdy Kiedy Jeśli Jednak Potem Teraz "
        "Tu "
        "Tam Co Kto Jak Gdzie Nie Tak",
        "ordinals": True,
    },
    "cs": {
        "continued": "p pan dr MUDr JUDr Ing Mgr Bc prof doc PhDr RNDr sv např tzn tj tzv cca popř příp resp ul nám vč "
        "zejm mj min max angl něm",
        "numbered": "č čl odst písm s str sv kap obr tab hod",
        "closing": "atd atp apod aj r př.n.l n.l a.s s.r.o",
        "first_words": "Ten Ta To On Ona Oni Já My Ty Vy Ale A V Na Po Když Pokud Pak Potom Teď Zde Tam Co Kdo Jak Kde "
        "Ne Ano",
        "ordinals": True,
    },
    "sk": {
        "continued": "p pán dr MUDr JUDr Ing Mgr Bc prof doc PhDr RNDr sv napr tzn tj tzv cca popr príp resp ul nám "
        "vrát najmä max min angl nem",
        "numbered": "č čl ods písm s str zv kap obr tab hod",
        "closing": "atď atp apod r pred.n.l n.l a.s s.r.o",
        "first_words": "Ten Tá To On Ona Oni Ja My Ty Vy Ale A V Na Po Keď Ak Potom Teraz Tu Tam Čo Kto Ako Kde Nie "
        "Áno",
        "ordinals": True,
    },
    "sl": {
        "continued": "g ga gdč dr mag prof inž sv npr t.i tj oz pribl ok gl prim ul max min",
        "numbered": "št čl odst str sl pogl",
        "closing": "itd ipd itn pr.n.št",
        "first_words": "Ta To Ti On Ona Oni Jaz Mi Ti Vi Ampak In V Na Po Ko Če Potem Zdaj Tu Tam Kaj Kdo Kako Kje Ne "
        "Da",
        "ordinals": True,
    },
    "hr": {
        "continued": "g gđa gđica gosp mr prof inž sv npr tj tzv odn oko usp v ul max min dipl",
        "numbered": "br čl st str sl pogl",
        "closing": "itd itsl sl dr pr.Kr d.o.o",
        "first_words": "Ta To Taj On Ona Oni Ja Mi Ti Vi Ali I U Na Po Kad Ako Zatim Sada Tu Tamo Što Tko Kako Gdje Ne "
        "Da",
        "ordinals": True,
    },
    "sr": {
        "continued": "г гђа др мр проф инж св нпр тј тзв одн ул g gđa dr mr prof inž sv npr tj tzv odn ul",
        "numbered": "бр чл ст стр br čl st str",
        "closing": "итд сл itd sl",
        "first_words": "То Та Тај Он Она Они Ја Ми Ти Ви Али И У На По Кад Ако Затим Сада To Ta Taj On Ona Oni Ja Mi "
        "Ti "
        "Vi Ali I U Na Po Kad Ako Zatim Sada",
        "ordinals": True,
    },
    "hu": {
        "continued": "dr prof ifj id özv pl ill kb ún vö ld Szt u.n tel max min",
        "numbered": "sz évf köt o old fej ábra",
        "closing": "stb i.e i.sz Kft Zrt Rt",
        "first_words": "A Az Egy Ez Ő Ők Én Mi Te Ti De És Majd Ha Amikor Most Itt Ott Mit Ki Hogyan Hol Nem Igen",
        "ordinals": True,
    },
    "ro": {
        "continued": "dl dna dvs dr prof ing av ex d.ex i.e cca aprox str bd sf Sf gen col lt max min",
        "numbered": "nr art alin cap vol p pag fig lit",
        "closing": "etc ș.a ş.a S.A S.R.L î.Hr d.Hr",
        "first_words": "El Ea Ei Ele Eu Noi Voi Tu Acest Această Aceasta Acesta Dar Și Şi Apoi În Pe La Cu Când Dacă "
        "După Un O Ce Cine Cum Unde Nu Da",
    },
    "ru": {
        "continued": "т.е т.н т.к т.о т.ч напр ср ул просп пер пл им д-р проф акад доц гр г-н г-жа св о тов ген "
        "полк кап инж нем англ фр лат греч букв примерно ок кв стр обл р-н пос дер тел факс",
        "numbered": "№ с стр гл рис табл п пп ст ч т том вып янв февр апр авг сент окт нояб дек",
        "closing": "т.д т.п т.пр др пр г гг в вв н.э руб коп млн млрд тыс чел мин сек час км м см кг",
        "first_words": "Он Она Оно Они Я Мы Ты Вы Это Этот Эта Эти Тот Но И А В На По С Когда Если Потом Затем Теперь "
        "Там Здесь Что Кто Как Где Не Да Однако После Его Её Их",
    },
    "uk": {
        "continued": "т.зв напр див пор вул просп пров пл ім д-р проф акад доц св о ген полк нім англ фр лат бл кв обл "
        "р-н тел",
        "numbered": "№ с стор гл рис табл п пп ст ч т том вип",
        "closing": "т.д т.п ін р рр ст н.е грн коп млн млрд тис хв год км м",
        "first_words": "Він Вона Воно Вони Я Ми Ти Ви Це Цей Ця Ці Той Але І Й А В У На По З Коли Якщо Потім Тепер Там "
        "Тут Що Хто Як Де Не Так Після Його Її Їх",
    },
    "bg": {
        "continued": "т.е т.нар напр вж ср ул бул пл гр с г-н г-жа д-р проф доц акад инж св ген полк",
        "numbered": "№ с стр гл рис табл чл ал т",
        "closing": "т.н и.т.н др пр г гг в пр.н.е лв ст",
        "first_words": "Той Тя То Те Аз Ние Ти Вие Това Този Тази Тези Но И А В На По С Когато Ако После Сега Там Тук "
        "Какво Кой Как Къде Не Да",
    },
    "el": {
        "continued": "κ κα κος Δρ καθ π.χ δηλ βλ πρβλ περ ν λεωφ οδ τηλ αγ Αγ",
        "numbered": "αρ αριθ άρ σελ σ κεφ τόμ παρ εικ",
        "closing": "κ.λπ κλπ κ.ά κ.ο.κ μ.Χ π.μ μ.μ Α.Ε",
        "first_words": "Ο Η Το Οι Τα Ένας Μια Ένα Αυτός Αυτή Αυτό Εγώ Εμείς Εσύ Εσείς Αλλά Και Τότε Στο Στη Στην Σε Με "
        "Για Αν Όταν Μετά Τώρα Εκεί Εδώ Τι Ποιος Πώς Πού Δεν Ναι",
        "marks": ";\u037e",
    },
    "tr": {
        "continued": "Dr Prof Doç Yrd Av Müh Sn Alb Gen Org Cad Sok Mah Apt örn ör bkz krş yak yy Hz St tel",
        "numbered": "No no s sf sy md fık böl şek",
        "closing": "vb vs vd M.Ö M.S A.Ş Ltd Şti",
        "first_words": "Bu Şu O Onlar Ben Biz Sen Siz Ama Ve Sonra Şimdi Eğer Burada Orada Ne Kim Nasıl Nerede Hayır "
        "Evet Bir",
        "ordinals": True,
    },
    "ca": {
        "continued": "Sr Sra Srta Dr Dra Prof p.ex ex i.e cf av c pl tel aprox Sta St",
        "numbered": "núm n art cap vol p pàg fig",
        "closing": "etc a.C d.C S.A",
        "first_words": "El La Els Les L' Un Una Ell Ella Ells Jo Nosaltres Però I Llavors En Per Amb Si Quan Després "
        "Això Aquest Aquesta No Sí",
    },
    "gl": {
        "continued": "Sr Sra Dr Dra Prof p.ex ex cf av tel",
        "numbered": "núm n art cap vol p páx",
        "closing": "etc a.C d.C",
        "first_words": "O A Os As Un Unha El Ela Eles Eu Nós Pero E Entón En Por Con Se Cando Isto Este Esta Non Si",
    },
    "eu": {
        "continued": "adib jn and dk ad",
        "numbered": "zk or art",
        "closing": "etab K.a K.o",
        "first_words": "Hau Hori Bera Haiek Ni Gu Zu Baina Eta Gero Orain",
        "ordinals": True,
    },
    "af": {
        "continued": "mnr mev mej dr prof ds bv d.w.s m.a.w ca",
        "numbered": "nr bl art hfst",
        "closing": "ens e.d",
        "first_words": "Die 'n Hy Sy Hulle Ons Ek Jy Dit Maar En Toe In Op As",
    },
    "id": {
        "continued": "dr Drs Ir Prof H Hj Jl Jln Kab Kec Kel Tn Ny Sdr dgn yg a.l",
        "numbered": "No no hlm hal ps",
        "closing": "dll dsb dst PT Tbk M",
        "first_words": "Ini Itu Dia Mereka Kami Kita Saya Anda Tetapi Dan Lalu Kemudian Jika Ketika Di Pada",
    },
    "vi": {
        "continued": "TS PGS GS Th.S ThS BS KS Tp TP Q P v.d vd",
        "numbered": "tr",
        "closing": "v.v v.v.v",
        "first_words": "Anh Chị Ông Bà Tôi Chúng Họ Nó Đây Đó Nhưng Và Sau Khi Nếu Trong",
    },
    "ga": {
        "continued": "m.sh i.e Dr Uas An.tUas",
        "numbered": "uimh lch",
        "closing": "srl",
        "first_words": "Tá Bhí Is Ní Ach Agus Sé Sí Siad",
    },
    "ar": {
        "continued": "د أ أ.د م ص.ب ج هـ ق.م",
        "numbered": "ص ج رقم",
        "closing": "إلخ الخ",
    },
    "fa": {
        "continued": "د ق.م ص",
        "numbered": "ص ج ش",
        "closing": "غیره",
    },
    "he": {
        "continued": "ד פרופ גב מס עמ",
        "numbered": "מס עמ כרך",
        "closing": "וכו וכד",
    },
    "hi": {
        "continued": "डॉ श्री श्रीमती प्रो पं स्व कु",
        "numbered": "सं पृ",
        "closing": "आदि",
    },
    "bn": {
        "continued": "ডা ড মো মি",
        "numbered": "নং পৃ",
        "closing": "ইত্যাদি",
    },
    "hy": {
        "marks": ":",
    },
    "th": {
        "periods": False,
    },
    "lo": {
        "periods": False,
    },
    "zh": {},
    "ja": {},
    "ko": {},
    "ka": {},
    "am": {},
    "km": {},
    "my": {},
}

ALIASES = {
    "nb": "no", "nn": "no", "bs": "hr", "sh": "hr", "cnr": "sr", "me": "sr", "mk": "bg", "be": "uk", "lb": "de",
    "fo": "da", "ms": "id", "az": "tr", "kk": "ru", "ky": "ru", "tt": "ru", "cv": "ru", "ba": "ru", "fy": "nl",
    "mr": "hi", "ne": "hi", "ur": "fa", "ps": "fa", "ckb": "ar", "yi": "he", "as": "bn", "ti": "am", "oc": "ca",
    "ast": "es", "yue": "zh", "wuu": "zh", "lzh": "zh", "cmn": "zh", "eng": "en", "deu": "de", "ger": "de",
    "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt", "nld": "nl", "dut": "nl", "swe": "sv",
    "dan": "da", "nor": "no", "nob": "no", "nno": "no", "fin": "fi", "isl": "is", "ice": "is", "est": "et",
    "ekk": "et", "lav": "lv", "lvs": "lv", "lit": "lt", "pol": "pl", "ces": "cs", "cze": "cs", "slk": "sk",
    "slo": "sk", "slv": "sl", "hrv": "hr", "bos": "hr", "srp": "sr", "hun": "hu", "ron": "ro", "rum": "ro",
    "rus": "ru", "ukr": "uk", "bel": "uk", "bul": "bg", "mkd": "bg", "mac": "bg", "ell": "el", "gre": "el",
    "tur": "tr", "azj": "tr", "aze": "tr", "cat": "ca", "glg": "gl", "eus": "eu", "baq": "eu", "afr": "af",
    "ind": "id", "msa": "id", "zsm": "id", "may": "id", "vie": "vi", "gle": "ga", "ara": "ar", "arb": "ar",
    "fas": "fa", "pes": "fa", "per": "fa", "prs": "fa", "urd": "fa", "heb": "he", "hin": "hi", "mar": "hi",
    "nep": "hi", "npi": "hi", "ben": "bn", "hye": "hy", "arm": "hy", "tha": "th", "lao": "lo", "zho": "zh",
    "chi": "zh", "jpn": "ja", "kor": "ko", "kat": "ka", "geo": "ka", "amh": "am", "tir": "am", "khm": "km",
    "mya": "my", "bur": "my", "ltz": "de", "fao": "da",
}  # fmt: skip
"""Other codes of a language, and languages whose abbreviations are those of another."""
