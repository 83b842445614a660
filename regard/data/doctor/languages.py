"""Function words of twenty languages: a quick sign that a sentence is in one of them, without a model.

Function words are frequent in every text, independently of its subject. The lists were written by hand. They include
closely related languages (Danish and Swedish, Catalan and Spanish), so that one is not mistaken for the other.
Words are runs of letters: `l'homme` is `l` and `homme`, so single letters occur.
"""

from types import MappingProxyType

_WORD_LISTS = {
    "en": "the and of to a in is that it for you was on are with as i he his be this have from at by not but what all "
    "were we when your can there an which their if will how so they would my been has who had do she or her them then "
    "its our about into could s t re ve ll",
    "fr": "le la les de des du un une et est en que qui dans pour pas sur au aux il elle ils nous vous je ce cette ces "
    "ne se sont avec plus par mais ou où son sa ses leur tout on été était avoir être fait comme si même très à y a "
    "l d c n qu j s m t",
    "de": "der die das und ist in zu den von mit auf für nicht ein eine einer einem einen eines es sich auch dem des "
    "ich wir sie er als an wie aus bei nach sind war wird haben hat dass oder aber noch nur so wenn über im am vor "
    "kann zum zur ihr uns man durch",
    "es": "el la los las de del y que en un una es por con para no se su sus lo como más pero al le ya o este esta "
    "sí porque cuando muy sin sobre también me hasta hay donde desde todo nos uno son era eso está fue han ser "
    "qué ha si yo",
    "it": "il lo la i gli le di del della dei delle che e è un una per in non con si da sono come anche più ma nel "
    "nella al alla questo questa ha o ho se ci mi quando c l dell all perché cosa essere molto tutto suo sua io noi "
    "lui loro era hanno",
    "pt": "o a os as de do da dos das e que em um uma é para não com por no na nos nas se mais como mas ao à ele ela "
    "foi seu sua ou ser quando muito já eu também só pelo pela até isso entre era há está você nós são tem isto este",
    "ca": "el la els les de del dels i que en un una és per amb no es als al com més però ha són va aquest aquesta si "
    "o molt també ho seva seu hi això quan perquè sense nosaltres tot fer l d s m n",
    "ro": "și de la în a cu pe nu un o este care să că din pentru mai ca sunt au fost ce se lui am dar sau prin după "
    "când foarte noi ei el ea le sa său aceasta acest acestea fi îi era",
    "nl": "de het een en van in is dat op te die zijn met voor niet aan er om als maar we ik je ze hij bij ook uit dan "
    "naar wat nog over door of tot worden wordt hebben heeft was deze dit zo kan zou geen meer mijn ons haar had",
    "sv": "och att det i en som är på för med av den till inte har de om ett var jag vi han så men hon från kan när "
    "vad eller du ut sig efter då vid nu här man mycket alla skulle sin över där mig också dem",
    "da": "og at det i en som er på for med af den til ikke har de om et var jeg vi han så men hun fra kan når hvad "
    "eller du ud sig efter da ved nu her man meget alle skulle sin over der mig også dem være blev",
    "no": "og at det i en som er på for med av den til ikke har de om et var jeg vi han så men hun fra kan når hva "
    "eller du ut seg etter da ved nå her man mye alle skulle sin over der meg også dem være ble",
    "pl": "i w na z że się nie do to jest o jak po co a ale czy od dla za przez tak tym tego są był była było już "
    "ich jego jej które który która może tylko go być mnie ze gdy by oraz też bardzo my ja ten ta te",
    "cs": "a v na že se je to s z do o i jako ale by jsou pro za ve po si tak jsem který která které co od jeho bylo "
    "byl byla být ještě už nebo jak až když mi ten toto tím při také může jen jsme má není velmi ze",
    "sk": "a v na že sa je to s z do o aj ako ale by sú pre za vo po si tak som ktorý ktorá ktoré čo od jeho bolo bol "
    "bola byť ešte už alebo keď mi ten toto tým pri tiež môže len sme má nie je veľmi zo",
    "ru": "и в не на что с он как это по но из у за от о же для то я бы мы вы они она так все его к был было были "
    "есть если или когда только еще ещё чтобы очень нет меня уже их ее её который которые этот до быть при",
    "uk": "і в не на що з він як це по але із у за від про ж для то я б ми ви вони вона так всі його до був було були "
    "є якщо або коли тільки ще щоб дуже немає мене вже їх її який які цей та бути й та при",
    "fi": "ja on ei se että en hän oli mutta ovat olen kun niin kuin tai minä sinä me he mitä tämä tässä sen jos vain "
    "myös nyt ole mikä joka jotka olla hänen minun ollut sitä siitä mukaan hyvin kanssa ennen",
    "hu": "a az és hogy nem is egy ez van de meg csak ha már még mint volt azt el ki lehet kell ezt vagy mert nagyon "
    "én te ő mi ti ők minden itt ott akkor amikor aki ami ezek azok után között",
    "tr": "ve bir bu da de için çok ile olarak ne daha gibi var o ben sen biz siz onlar mi mı değil kadar ama sonra en "
    "her şey olan oldu olduğu ki bunu yok nasıl neden beni bana bizim onun ise veya",
}

FUNCTION_WORDS = MappingProxyType({code: frozenset(words.split()) for code, words in _WORD_LISTS.items()})
