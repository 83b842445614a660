"""The word lists of the English-French corpus, written so that a reader can check them line by line.

A table is `header: entry; entry`
  an indented line goes on with the header above it. Tags keep sentences
sensible: a verb names the tags of its subjects and objects, an adjective those of its nouns, and every noun
carries its own name as a tag. Each English form means one thing only, so that a sentence has one translation:
no "fish" or "sheep" (one form, two numbers), no "read" or "put" (one form, two tenses).
"""

from __future__ import annotations

# tags: english french gender
NOUNS = """
person kin sole: mother mère f; father père m
person kin: brother frère m; sister sœur f; uncle oncle m; aunt tante f
  grandmother grand-mère f; grandfather grand-père m; cousin cousin m; friend ami m; neighbour voisin m
person: man homme m; woman femme f; boy garçon m; girl fille f; child enfant m; lady dame f
  hero héros m
person job: teacher professeur m; doctor médecin m; farmer fermier m; baker boulanger m; king roi m
  queen reine f
  prince prince m; princess princesse f; actor acteur m; actress actrice f; nurse infirmière f
  student étudiant m
  soldier soldat m; artist artiste m; lawyer avocat m; engineer ingénieur m; singer chanteuse f
  waiter serveur m
animal: dog chien m; cat chat m; horse cheval m; bird oiseau m; cow vache f; rabbit lapin m
  mouse souris f
  wolf loup m; bear ours m; lion lion m; hen poule f; duck canard m; hedgehog hérisson m
  frog grenouille f
  donkey âne m; elephant éléphant m; monkey singe m; goat chèvre f
food fruit: apple pomme f; orange orange f; cherry cerise f; strawberry fraise f; pear poire f
  tomato tomate f
food: cake gâteau m; egg œuf m; carrot carotte f; bean haricot m; sandwich sandwich m; meal repas m
  salad salade f
food mass: bread pain m; cheese fromage m; soup soupe f; meat viande f; rice riz m; butter beurre m
  honey miel m
drink mass: water eau f; milk lait m; coffee café m; tea thé m; wine vin m; juice jus m; oil huile f
thing text opens: letter lettre f; newspaper journal m
thing text opens coloured heavy: book livre m
thing opens fixed coloured: door porte f; window fenêtre f
thing opens coloured heavy: box boîte f; bag sac m; bottle bouteille f; umbrella parapluie m
thing surface coloured heavy: table table f; chair chaise f; bed lit m
thing tool: key clé f; spoon cuillère f; tool outil m
thing tool coloured: phone téléphone m; lamp lampe f
thing tool heavy: computer ordinateur m; axe hache f; hammer marteau m; knife couteau m
thing fragile coloured: clock horloge f; watch montre f; plate assiette f; glass verre m; cup tasse f
thing sent: gift cadeau m; picture image f; painting tableau m; photo photo f
thing sent coloured: ball ballon m
thing plant sent coloured: flower fleur f
thing instrument heavy coloured: guitar guitare f; piano piano m; violin violon m; harp harpe f
plant shade: tree arbre m
clothes coloured: hat chapeau m; coat manteau m; shirt chemise f; shoe chaussure f; dress robe f
  skirt jupe f; jacket veste f
vehicle drives coloured: car voiture f; bus bus m; truck camion m
vehicle coloured: train train m; plane avion m; boat bateau m; bicycle vélo m; helicopter hélicoptère m
place inside building: house maison f; school école f; church église f; hotel hôtel m
  hospital hôpital m
  library bibliothèque f; restaurant restaurant m; museum musée m; castle château m; theatre théâtre m
  hangar hangar m
  shop magasin m; farm ferme f
place inside room: kitchen cuisine f; bedroom chambre f; office bureau m
place inside outdoors: garden jardin m; park parc m; forest forêt f; village village m; city ville f
  street rue f
place outdoors: market marché m; station gare f; beach plage f; river rivière f; lake lac m
  mountain montagne f
  bridge pont m; island île f
idea told: story histoire f; song chanson f; film film m
idea asked: question question f; problem problème m; idea idée f; word mot m
"""

# side of the noun in French, tags of the nouns: english french
ADJECTIVES = """
before person: tall grand; young jeune; kind gentil
before person animal: fat gros
before animal food thing clothes vehicle place plant: big grand
before animal thing clothes vehicle place plant food idea: huge énorme
before person animal thing clothes vehicle place plant food: small petit
before person animal thing clothes vehicle place idea plant: old vieux; beautiful beau
before job thing clothes vehicle building idea: new nouveau
before person animal food drink thing place idea: good bon; bad mauvais
before woman girl lady princess queen actress clothes place plant sent animal: pretty joli
before street idea clothes river bridge: long long
before mountain bridge tree window: high haut
before job: former ancien
after person animal: happy heureux; sad triste; tired fatigué; strong fort; weak faible
  curious curieux; lazy paresseux
  brave courageux; nervous nerveux; jealous jaloux; active actif; hungry affamé; calm calme; slow lent
after person: rich riche; poor pauvre; intelligent intelligent; famous célèbre; shy timide
  honest honnête
  polite poli; blond blond
after person idea: funny drôle
after person animal idea place: strange étrange
after animal vehicle knife axe hammer: dangerous dangereux
after person wine coffee tea cheese meal clothes vehicle told: French français; English anglais
  Italian italien
  Spanish espagnol; German allemand; Japanese japonais
after coloured house hotel: red rouge; blue bleu; green vert; yellow jaune; pink rose; purple violet
after coloured house hotel church castle dog cat horse cow rabbit hen goat: black noir; white blanc
  grey gris; brown brun
after thing clothes vehicle food building: expensive cher
after heavy coat: heavy lourd; light léger
after thing clothes vehicle place animal: clean propre; dirty sale
after food drink room: cold froid; hot chaud
after bottle box bag glass cup plate place vehicle: empty vide
after food: fresh frais
after clothes: soft doux
after clothes fruit: dry sec
after idea: interesting intéressant; important important; difficult difficile; easy facile
after table window box clock: square carré; round rond
after fragile tool instrument vehicle: broken cassé
after street bridge river door: wide large; narrow étroit
after place: quiet tranquille; noisy bruyant
after river lake: deep profond
"""

# aspect, subjects > objects: english[_particle] french[_preposition]
VERBS = """
dynamic person animal: sleep dormir; swim nager; run courir; walk marcher; jump sauter; play jouer
dynamic person: sing chanter; dance danser; work travailler; laugh rire; cry pleurer; smile sourire
  cook cuisiner
  travel voyager; shout crier; wait attendre; leave partir; stay rester; go_out sortir
  hurry se_dépêcher
  rest se_reposer; wake_up se_réveiller; get_up se_lever
event person animal: fall tomber; come_back revenir
event animal king queen prince hero: die mourir
event person vehicle: arrive arriver
dynamic person animal > food: eat manger
dynamic person animal > drink: drink boire
event person animal > person animal place vehicle: see voir
dynamic person > food drink clothes vehicle thing: buy acheter; sell vendre
event person > thing clothes animal: find trouver
event person > tool clothes bag umbrella watch photo: lose perdre
dynamic person animal > person animal tool: look_for chercher
dynamic person > person train bus plane: wait_for attendre
dynamic person > person song story: listen_to écouter
dynamic person > animal film child: watch regarder
state person > person animal food drink place told: love adorer; like aimer
state person > animal food drink place clothes: hate détester
state person > food drink clothes vehicle place: prefer préférer
state person > food drink clothes vehicle sent: want vouloir
state person > animal clothes vehicle instrument tool: have avoir
state person > person city village street told hotel restaurant: know connaître
event person > idea person: understand comprendre
event person > person: invite inviter; meet rencontrer; thank remercier
dynamic person > person: help aider; call appeler
dynamic person animal > person animal vehicle: follow suivre
dynamic person > building city village island park: visit visiter
dynamic person > animal person plant building vehicle: draw dessiner
dynamic person > clothes vehicle fruit plate cup glass: wash laver
dynamic person > room building vehicle surface: clean nettoyer
dynamic person > opens: open ouvrir
dynamic person > opens shop restaurant museum: close fermer
event person > fragile window bottle chair lamp: break casser
dynamic person > vehicle clock computer phone chair: repair réparer
dynamic person > clothes: wear porter
dynamic person > box bag chair bottle child instrument: carry porter
event person > clothes food vehicle sent: choose choisir
event person > text story song meal cake: finish finir; begin commencer
event person > key clothes bag umbrella asked gift phone: forget oublier
event person animal > animal vehicle song child: hear entendre
dynamic person animal > food key gift letter: hide cacher
dynamic person > vehicle painting watch gift key: steal voler
dynamic person > building bridge boat: build construire
dynamic person > door window animal surface house boat: paint peindre
dynamic person > drives: drive conduire
dynamic person > tool bicycle: use utiliser
event person > sent text: receive recevoir
event person > train bus key bag photo: take prendre
dynamic person > food drink: prepare préparer
dynamic person > food: share partager
dynamic person > vehicle surface: push pousser; pull tirer
event person > animal plant surface instrument: touch toucher
dynamic person > painting plant place dress vehicle queen king: admire admirer
dynamic person > idea: explain expliquer
dynamic person > text told: write écrire
dynamic person > instrument: play jouer_de
event person > person told idea: remember se_souvenir_de
dynamic person > person: talk_to parler_à; phone téléphoner_à; smile_at sourire_à
event person > person question letter: answer répondre_à
dynamic person animal > teacher king queen mother father lady: obey obéir_à
state person > kin king queen actor actress singer: resemble ressembler_à
event person > inside: enter entrer_dans
"""

# aspect: english french
DITRANSITIVE = "dynamic: give donner; show montrer; send envoyer; offer offrir; lend prêter; bring apporter"
MOTION = "dynamic: go aller; come venir; return retourner"
ATTITUDE = "state: think penser; know savoir; hope espérer; believe croire"
CONTROL = "state: want vouloir; like aimer; prefer préférer; hope espérer"

# english french, place in French: English verbs it suits
MANNERS = """
slowly lentement end: swim run walk dance work travel sing
quickly rapidement end: swim run walk work leave
well bien middle: sleep sing dance work swim cook play
badly mal middle: sleep sing dance work swim cook play
a_lot beaucoup middle: sleep work laugh travel cry sing dance walk run smile cook
loudly fort end: sing laugh cry shout
quietly calmement end: wait rest walk work
"""
FREQUENCIES = "often souvent; always toujours; sometimes parfois; rarely rarement"

# The words of each side, then their alignment.
TIMES = """
present: every day | tous les jours | 0-0 0-1 1-2
present: every morning | tous les matins | 0-0 0-1 1-2
present: every evening | tous les soirs | 0-0 0-1 1-2
present: every week | toutes les semaines | 0-0 0-1 1-2
present: every year | tous les ans | 0-0 0-1 1-2
present: in summer | en été | 0-0 1-1
present: in winter | en hiver | 0-0 1-1
past: yesterday | hier | 0-0
past: this morning | ce matin | 0-0 1-1
past: last week | la semaine dernière | 1-0 1-1 0-2
past: last month | le mois dernier | 1-0 1-1 0-2
past: last year | l' année dernière | 1-0 1-1 0-2
past: two days ago | il y a deux jours | 2-0 2-1 2-2 0-3 1-4
past: three weeks ago | il y a trois semaines | 2-0 2-1 2-2 0-3 1-4
future: tomorrow | demain | 0-0
future: soon | bientôt | 0-0
future: today | aujourd'hui | 0-0
future: tonight | ce soir | 0-0 0-1
future: next week | la semaine prochaine | 1-0 1-1 0-2
future: next month | le mois prochain | 1-0 1-1 0-2
future: next year | l' année prochaine | 1-0 1-1 0-2
future: in two days | dans deux jours | 0-0 1-1 2-2
"""

# English name, how French says "in" or "to" it
REGIONS = """
Paris à Paris; London à Londres; Rome à Rome; Brussels à Bruxelles; Madrid à Madrid; Berlin à Berlin
  France en France
Italy en Italie; Spain en Espagne; Germany en Allemagne; Canada au Canada; Japan au Japon
  Portugal au Portugal
"""

# English preposition, French one, the tags of what may follow
PREPOSITIONS = """
in | dans | inside
near | près de | building outdoors surface shade fixed
behind | derrière | building surface shade fixed
in front of | devant | building fixed shade
next to | à côté de | building outdoors surface shade
on | sur | surface bridge beach island
under | sous | surface shade bridge
at | à | market station school hotel hospital library restaurant museum theatre
"""
GOALS = (
    "school church hotel hospital library restaurant museum castle theatre shop farm office garden park "
    "market station beach river lake"
)

MEN = ("Paul", "Pierre", "Robert", "Antoine", "Julien", "David", "Olivier", "Martin")
WOMEN = ("Marie", "Sophie", "Claire", "Emma", "Alice", "Julie", "Camille", "Isabelle")
ATTRIBUTIVE_ONLY = "former"
# Adjectives without degrees: a cup is broken or not.
NON_GRADABLE = "French English Italian Spanish German Japanese broken empty square round"
# Adjectives whose English comparative is made with "more": no ending to learn.
PERIPHRASTIC_COMPARATIVE = """
beautiful intelligent famous curious nervous jealous interesting important difficult dangerous
expensive tired honest
"""

# Nouns that sound odd with a possessive.
NON_POSSESSED = """
man woman boy girl lady hero king queen prince princess actor actress soldier artist engineer singer
waiter baker farmer wolf bear lion mouse hedgehog frog elephant monkey church hospital library
museum theatre hangar market station river lake mountain bridge island park forest castle beach
restaurant hotel story film
"""
# Stage-level adjectives: they may be true on one day only.
STAGE_LEVEL = """
happy sad tired nervous calm hungry jealous funny polite brave
"""
