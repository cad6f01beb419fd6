"""Words that say nothing about a text's topic: articles, pronouns, prepositions, conjunctions, auxiliaries, questions.

Only closed classes, no common nouns or verbs. Published stop word lists also have "fire", "man" and "find"; dropping
such words from queries costs more than it gains.
"""

from __future__ import annotations

from functools import cache

from .characters import fold

WORDS = {
    "ar": """
        من إلى الى عن على في مع بين حتى منذ خلال عند لدى حول قبل بعد تحت فوق دون ضد و أو او ثم أم بل لكن لأن إذ
        إذا اذا لو كما كي لكي أن ان إن أنه أنها إنه إنها بأن كأن هو هي هم هن هما أنا نحن أنت أنتم هذا هذه ذلك
        تلك هؤلاء أولئك هنا هناك الذي التي الذين اللذان اللتان اللاتي ما ماذا متى أين اين كيف كم هل لماذا لم لن
        لا ليس ليست قد كان كانت كانوا يكون تكون أي اي أية كل بعض غير سوى فقط أيضا ايضا به بها بهم له لها لهم فيه
        فيها منه منها عنه عليه عليها إليه إليها ولم ولا وقد وهو وهي ومن وفي وكان وكانت والتي والذي بما مما فيما
        عما""",
    "cs": """
        a i ale nebo ani že aby když jestli pokud protože než jako tak také jen jenom však ať by bych bys bychom
        byste se si v ve na z ze s k ke o u do od pro po za při před nad pod mezi bez přes podle během kromě já
        ty on ona ono my vy oni mě mne mi mu ho ji jí je jich jim nás nám vás vám ten ta to ti toho tom tomu tím
        této tato tento tyto těch který která které kteří kterou kterého kterých kterým co kdo kdy kde kam jak
        jaký jaká jaké proč čí kolik jsem jsi jsme jste jsou byl byla bylo byli byly být bude budou není nejsou
        ne můj moje svůj své svou jeho její jejich náš váš""",
    "da": """
        en et den det de og eller men at som der om hvis når fordi mens end så også kun ikke i på til fra for af
        med ved over under efter før mellem uden gennem mod hos ind ud op ned jeg du han hun vi I mig dig ham
        hende os jer dem sig min mit mine din dit dine hans hendes sin sit sine vores jeres deres denne dette
        disse hvad hvem hvor hvornår hvordan hvorfor hvilken hvilket hvilke er var være været bliver blev blive
        har havde have haft kan kunne skal skulle vil ville må måtte her da""",
    "de": """
        der die das den dem des ein eine einer eines einem einen kein keine keiner keinen keinem keines und oder
        aber denn sondern sowie dass daß ob wenn weil als wie da damit obwohl während bevor nachdem bis in im an
        am auf aus bei beim mit nach seit von vom zu zum zur durch für gegen ohne um über unter vor hinter neben
        zwischen ins ans aufs ich du er sie es wir ihr mich dich sich uns euch ihn ihm ihnen mir dir man mein
        meine meiner meinen meinem dein deine sein seine seiner seinen seinem seines ihre ihrer ihren ihrem
        ihres unser unsere unserer euer eure dieser diese dieses diesem diesen jener jene jenes welcher welche
        welches welchem welchen deren dessen denen wer wen wem wessen was wann wo wohin woher warum wieso
        weshalb wieviel womit wodurch wofür worauf woraus bin bist ist sind seid war waren warst gewesen wird
        werden wurde wurden worden hat haben hatte hatten habe gehabt kann können konnte konnten muss müssen
        musste soll sollen sollte will wollen wollte darf dürfen durfte mag möchte nicht auch nur noch schon so
        sehr dann hier dort""",
    "el": """
        ο η το οι τα του της των τον την τη τους τις ένας ένα μια μία ενός μιας έναν και κι ή είτε αλλά όμως ότι
        πως που αν όταν γιατί επειδή ώστε ενώ αφού πριν να θα ας δεν μη μην όχι σε στο στη στην στον στα στους
        στις στου στης από με για προς κατά μετά παρά αντί χωρίς μέχρι έως ως υπό μεταξύ εγώ εσύ αυτός αυτή αυτό
        αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν εμείς εσείς μου σου μας σας εκείνος εκείνη εκείνο ποιος ποια
        ποιο ποιοι ποιες ποιον ποιαν ποιους ποιων τι πότε πού πώς πόσο πόση πόσος πόσοι πόσες πόσα οποίος οποία
        οποίο οποίοι οποίες οποίων οποίου οποίας όποιος όπου όπως όσο είναι ήταν είμαι είσαι είμαστε είχε είχαν
        έχει έχουν έχω μπορεί μπορούν πρέπει επίσης μόνο πολύ εδώ εκεί""",
    "en": """
        a an the this that these those and or but nor if than then so as because while until although though
        unless since of at by for with about against between into through during before after above below to
        from in on off over under out up down again upon within without across among along toward towards via
        per i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
        she her hers herself it its itself they them their theirs themselves who whom whose what which when
        where why how whether be am is are was were been being have has had having do does did done doing can
        could may might must shall should will would ought not no only very too also just there here such same
        both each any all some more most other another own few s t d ll m re ve don didn doesn isn aren wasn
        weren hasn haven hadn won wouldn shouldn couldn mustn needn""",
    "es": """
        el la los las un una unos unas lo al del y e o u pero sino ni que si porque pues aunque mientras cuando
        como a ante bajo con contra de desde durante en entre hacia hasta para por según sin sobre tras yo tú él
        ella ello nosotros vosotros ellos ellas usted ustedes me te se nos os le les mi mis tu tus su sus
        nuestro nuestra nuestros nuestras este esta esto estos estas ese esa eso esos esas aquel aquella aquello
        aquellos aquellas qué quién quiénes quien quienes cuál cuáles cual cuales cuándo dónde donde cómo cuánto
        cuánta cuántos cuántas cuyo cuya es son era eran fue fueron ser sido siendo soy está están estaba
        estaban estar ha han había habían haber hay he puede pueden podía debe deben no sí también muy más ya
        solo sólo así""",
    "fi": """
        ja tai eli mutta vaan sekä että jos kun koska vaikka kuin niin myös vain jo ei en et emme ette eivät älä
        minä sinä hän me te he se ne tämä nämä tuo nuo minun sinun hänen meidän teidän heidän sen sitä siitä
        siihen siinä sille niiden niitä niistä niihin niissä tämän tätä tästä tähän tässä näiden näitä jonka
        jota josta johon jossa jolle jolla joka jotka joiden joita joista joissa joihin mikä mitä mistä mihin
        missä minkä mitkä kuka ketkä kenen ketä milloin miten miksi kuinka millainen on ovat oli olivat ole olla
        ollut olleet olisi olen olet olemme voi voivat voisi kanssa ilman ennen jälkeen mukaan kautta""",
    "fr": """
        le la les l un une des du de d au aux et ou mais donc or ni car que qu si comme lorsque quand puisque
        parce tandis à dans par pour en vers avec sans sous sur chez entre depuis pendant avant après contre dès
        jusque jusqu selon je j tu il elle on nous vous ils elles me m te t se s lui leur leurs eux moi toi soi
        y mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces ceci cela ça celui celle ceux
        celles qui quoi dont où quel quelle quels quelles lequel laquelle lesquels lesquelles comment pourquoi
        combien est suis es sommes êtes sont était étaient été être étant fut furent sera seront ai as a avons
        avez ont avait avaient eu avoir ayant peut peuvent doit doivent ne n pas plus non aussi très ici là""",
    "hi": """
        का की के को में से पर ने तक और या एवं व तथा लेकिन परन्तु किन्तु कि अगर यदि तो क्योंकि जब तब जैसे भी ही
        नहीं न मत है हैं था थी थे हो हूँ होता होती होते हुआ हुई हुए होना होने होगा गया गयी गई गए रहा रही रहे कर
        करके करना करने किया किए जा जाता जाती जाते सकता सकती सकते मैं हम तुम आप वह वे यह ये उस उन इस इन उसे
        उन्हें इसे इन्हें उसका उसकी उसके उनका उनकी उनके इसका इसकी इसके इनका इनके मेरा मेरी मेरे हमारा हमारे अपना
        अपनी अपने जो जिस जिन जिसे जिसका जिसकी जिसके जिसमें क्या कौन कब कहाँ कहां कैसे क्यों कितना कितनी कितने
        किस किसने किसका किसकी किसके किसे कौनसा कौनसी एक लिए साथ द्वारा बाद पहले बीच ऊपर नीचे बारे बिना वाला वाली
        वाले""",
    "it": """
        il lo la i gli le l un uno una e ed o od ma né che se perché poiché mentre quando come anche a ad da di
        d in con su per tra fra del dello della dei degli delle dell al allo alla ai agli alle all dal dallo
        dalla dai dagli dalle dall nel nello nella nei negli nelle nell sul sullo sulla sui sugli sulle sull col
        io tu lui lei noi voi loro mi ti si ci vi ne me te sé mio mia miei mie tuo tua suo sua suoi sue nostro
        nostra vostro questo questa questi queste quest quello quella quelli quelle quel quei chi cosa cui quale
        quali qual dove dov quanto quanta quanti quante com cos sono sei è siamo siete era erano fu furono
        essere stato stata stati state ha hanno ho aveva avevano avere avuto può possono deve devono non più già
        molto solo così""",
    "nl": """
        de het een en of maar want dat als dan toen omdat terwijl hoewel indien zodat ook niet geen wel nog al
        zo in op aan uit bij met naar van voor door over onder om tegen tot tussen zonder tijdens na sinds te
        ten ter binnen ik jij je hij zij ze wij we jullie u mij me jou hem haar ons hen hun zich mijn jouw zijn
        onze uw deze dit die er hier daar wie wat welke welk wanneer waar hoe waarom waarin waarvan hoeveel ben
        bent is was waren geweest wordt worden werd werden heeft hebben had hadden heb kan kunnen kon konden
        moet moeten zal zullen zou zouden wil willen mag mogen""",
    "no": """
        en ei et den det de og eller men at som der om hvis når fordi mens enn så også bare ikke i på til fra
        for av med ved over under etter før mellom uten gjennom mot hos inn ut opp ned jeg du han hun vi dere
        meg deg ham henne oss dem seg min mitt mine din ditt dine hans hennes sin sitt sine vår vårt våre deres
        denne dette disse hva hvem hvor hvordan hvorfor hvilken hvilket hvilke er var være vært blir ble bli
        blitt har hadde ha hatt kan kunne skal skulle vil ville må måtte her da""",
    "pl": """
        i oraz a ale lub albo ani że żeby aby jeśli jeżeli gdy kiedy ponieważ bo niż jak jako tak też także
        tylko czy by w we na z ze do od o u po za przy przed nad pod między bez przez dla wobec podczas według
        ja ty on ona ono my wy oni one mnie mi mu go ją jej ich im nas nam was wam się siebie sobie ten ta to ci
        te tego tej tym tych tymi tę tą który która które którzy którego której których którym którą co kto kogo
        komu czego czemu gdzie dlaczego ile jaki jaka jakie jakich jest są był była było były być będzie będą
        nie mój moje swój swoje swoją jego nasz wasz""",
    "pt": """
        o a os as um uma uns umas e ou mas nem que se porque pois embora enquanto quando como de do da dos das
        em no na nos nas por pelo pela pelos pelas para com sem sob sobre entre até desde após contra ao aos à
        às num numa eu tu ele ela nós vós eles elas você vocês me te lhe lhes meu minha meus minhas teu seu sua
        seus suas nosso nossa este esta isto estes estas esse essa isso esses essas aquele aquela aquilo neste
        nesta deste desta quem qual quais quanto quanta quantos quantas onde cujo cuja é são era eram foi foram
        ser sido sendo sou está estão estava estavam estar há tem têm tinha ter pode podem deve devem não também
        muito mais já só""",
    "ro": """
        un o unei unui unor al a ai ale cel cea cei cele lui și si sau ori dar iar însă nici că dacă deși pentru
        când cum ca în din la de pe cu fără prin între spre către până după înainte sub peste despre dintre într
        dintr printr asupra eu tu el ea noi voi ei ele mă te se ne vă îl îi le i își mi ți lor meu mea său sa
        săi sale nostru noastră acest această acești aceste acesta aceasta acestea acel acea acei acele acela
        aceea ce cine care cărui cărei căror cui unde cât câtă câți câte este e sunt era erau fi fost fiind am
        are avem aveți au avea poate pot putea trebuie nu mai doar foarte""",
    "ru": """
        и а но или либо да что чтобы если когда потому так как также тоже то же ли бы не ни лишь только в во на
        с со к ко о об обо у из от до по за при перед над под между без для через про ради около после я ты он
        она оно мы вы они меня мне мной тебя тебе его ему им ним него нее неё ее её ей нас нам вас вам их них
        ними себя себе мой моя моё мои свой своя своё свои своего своей своих свою наш ваш этот эта это эти
        этого этой этих этому этом эту тот та те того той тех тому том ту который которая которое которые
        которого которой которых которым которую котором кто кого кому кем чем чего чему где куда откуда почему
        зачем сколько какой какая какое какие какого каких каким какую каком чей был была было были быть есть
        будет будут является являются может могут""",
    "sv": """
        en ett den det de och eller men att som om när därför medan än så också bara inte i på till från för av
        med vid över under efter före mellan utan genom mot hos in ut upp ned jag du han hon vi ni mig dig honom
        henne oss er dem sig min mitt mina din ditt dina hans hennes sin sitt sina vår vårt våra deras denna
        detta dessa vad vem var hur varför vilken vilket vilka vems vars är vara varit blir blev bli har hade ha
        haft kan kunde ska skall skulle vill ville må måste här där då""",
    "tr": """
        ve veya ya ile ama fakat ancak çünkü ki eğer da de ise için gibi kadar göre sonra önce üzere karşı doğru
        beri ben sen o biz siz onlar beni bana seni sana onu ona bizi bize sizi size onları onlara benim senin
        onun bizim sizin onların bu şu bunlar şunlar bunu buna bunun bunda şunu kendi kendisi ne kim kimin kime
        kimi hangi hangisi nerede nereye nereden nasıl neden niçin niye kaç kaçı mi mı mu mü bir değil var yok
        olan olarak olduğu olduğunu oldu olur idi iken her hiç çok daha en hem bile sadece""",
}


@cache
def find_function_words(language: str) -> frozenset[str]:
    """The function words of a language, in the form of `find_words`; empty for "none"."""
    return frozenset(fold(WORDS.get(language, "")).split())
