
initw1"GivenTensorFill*
shape00*l
values-aKM¿-˜„©¿-‚R~¾-™D×>-ùi‘?-À­à=-Kz¿-^çH¿-Î­??-’@Ñ?-Y¨‹>-·İ¿-ŞPu¿-mÍÌ?-jÀO>-˜¶İ¿-éh«½-—ä”¿-!¿-æÛù¾Cb1"GivenTensorFill*	
shape0*!
values-µ›6¿-6ª?-83½-øä¿-¼Ñ>ww2"GivenTensorFill*
shape00*S
values-fqT?-—NÒ¿-"rƒ¾-B{¿-šO1¾-¬¥¿-ç~©<-.½-(Ò›¾-u"†¿-vÙÊ¾-ª°‹¿-{w­¿-;.f>-.ÿ¿9b2"GivenTensorFill*	
shape0*
values-CÌ•?-Jr7?-u¸ÿ¿